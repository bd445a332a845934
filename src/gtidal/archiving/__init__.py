"""A server's logs copied byte by byte, as long as it has them: into a folder, or through a folder into a storage."""

from gtidal.archiving.archiver import Archiver, Options, Progress, Summary, Watch
from gtidal.archiving.folder import Folder
from gtidal.archiving.uploading import Mirror

__all__ = ["Archiver", "Folder", "Mirror", "Options", "Progress", "Summary", "Watch"]
