"""Reading one log and passing over what nobody asked for: long stretches of ordinary events, at the kernel's speed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gtidal.log.decoder import Frame, Keys
from gtidal.sources.files import LogFile, LogReader

if TYPE_CHECKING:
    from gtidal.columnar.surveying import Ordinary


class SkippingReader(LogReader):
    """Frames one by one, as ever. Between any two of them a stretch may be passed over: it is known that all of its
    events decode, and that their checksums are right."""

    def __init__(self, file: LogFile, keys: Keys) -> None:
        from gtidal.columnar.auditing import Stepper  # here, so that other commands start without it

        super().__init__(file, verify_checksum=False, inner=False, keys=keys)
        self._stepper = Stepper(self.stream, self.decoder, keys=keys)

    def next_frame(self) -> Frame | None:
        return self._stepper.next_frame()

    def stretch(self) -> Ordinary | None:
        """The ordinary events that come next."""
        return self._stepper.survey.stretch(self.decoder)

    def pass_over(self, found: Ordinary, place: int | None = None) -> Ordinary | None:
        """Go on behind the stretch; or behind that part of it, whole transactions, that ends before ``place``. Returns
        what was passed over."""
        if place is not None and place < found.last:
            part = self._stepper.survey.before(found, place)
            if part.last == part.first:
                self._stepper.survey.refuse(found)
                return None
            found = part
        self._stepper.go_behind(found)
        return found
