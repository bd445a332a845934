"""Collations, charsets and the text of a column's bytes.

The names are those of MySQL 9.7 and MariaDB 11.8, read from the servers. A charset is decoded by Python's
codec of the same encoding, corrected where the servers' own conversion differs (``_OVERRIDES`` was made by
asking a MySQL 9.7 and a MariaDB 11.8 to CONVERT every code of every charset). Where Python knows more
characters than the server's table (cp1256, greek), the character is given, not the server's "?".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

from gtidal.errors import UsageError

BINARY = 63
"""The collation of BINARY, VARBINARY, BLOB."""

# Charset, then its collations: id and the name after the charset's own.
_COLLATIONS = """
big5: 1 chinese_ci, 84 bin, 1025 chinese_nopad_ci, 1108 nopad_bin
latin2: 2 czech_cs, 9 general_ci, 21 hungarian_ci, 27 croatian_ci, 77 bin, 1033 general_nopad_ci, 1101
  nopad_bin
dec8: 3 swedish_ci, 69 bin, 1027 swedish_nopad_ci, 1093 nopad_bin
cp850: 4 general_ci, 80 bin, 1028 general_nopad_ci, 1104 nopad_bin
latin1: 5 german1_ci, 8 swedish_ci, 15 danish_ci, 31 german2_ci, 47 bin, 48 general_ci, 49 general_cs, 94
  spanish_ci, 1032 swedish_nopad_ci, 1071 nopad_bin
hp8: 6 english_ci, 72 bin, 1030 english_nopad_ci, 1096 nopad_bin
koi8r: 7 general_ci, 74 bin, 1031 general_nopad_ci, 1098 nopad_bin
swe7: 10 swedish_ci, 82 bin, 1034 swedish_nopad_ci, 1106 nopad_bin
ascii: 11 general_ci, 65 bin, 1035 general_nopad_ci, 1089 nopad_bin
ujis: 12 japanese_ci, 91 bin, 1036 japanese_nopad_ci, 1115 nopad_bin
sjis: 13 japanese_ci, 88 bin, 1037 japanese_nopad_ci, 1112 nopad_bin
cp1251: 14 bulgarian_ci, 23 ukrainian_ci, 50 bin, 51 general_ci, 52 general_cs, 1074 nopad_bin, 1075
  general_nopad_ci
hebrew: 16 general_ci, 71 bin, 1040 general_nopad_ci, 1095 nopad_bin
tis620: 18 thai_ci, 89 bin, 1042 thai_nopad_ci, 1113 nopad_bin
euckr: 19 korean_ci, 85 bin, 1043 korean_nopad_ci, 1109 nopad_bin
latin7: 20 estonian_cs, 41 general_ci, 42 general_cs, 79 bin, 1065 general_nopad_ci, 1103 nopad_bin
koi8u: 22 general_ci, 75 bin, 1046 general_nopad_ci, 1099 nopad_bin
gb2312: 24 chinese_ci, 86 bin, 1048 chinese_nopad_ci, 1110 nopad_bin
greek: 25 general_ci, 70 bin, 1049 general_nopad_ci, 1094 nopad_bin
cp1250: 26 general_ci, 34 czech_cs, 44 croatian_ci, 66 bin, 99 polish_ci, 1050 general_nopad_ci, 1090
  nopad_bin
gbk: 28 chinese_ci, 87 bin, 1052 chinese_nopad_ci, 1111 nopad_bin
cp1257: 29 lithuanian_ci, 58 bin, 59 general_ci, 1082 nopad_bin, 1083 general_nopad_ci
latin5: 30 turkish_ci, 78 bin, 1054 turkish_nopad_ci, 1102 nopad_bin
armscii8: 32 general_ci, 64 bin, 1056 general_nopad_ci, 1088 nopad_bin
utf8mb3: 33 general_ci, 76 tolower_ci, 83 bin, 192 unicode_ci, 193 icelandic_ci, 194 latvian_ci, 195
  romanian_ci, 196 slovenian_ci, 197 polish_ci, 198 estonian_ci, 199 spanish_ci, 200 swedish_ci, 201
  turkish_ci, 202 czech_ci, 203 danish_ci, 204 lithuanian_ci, 205 slovak_ci, 206 spanish2_ci, 207
  roman_ci, 208 persian_ci, 209 esperanto_ci, 210 hungarian_ci, 211 sinhala_ci, 212 german2_ci, 213
  croatian_ci, 214 unicode_520_ci, 215 vietnamese_ci, 223 general_mysql500_ci, 576 croatian_ci, 577
  myanmar_ci, 578 thai_520_w2, 579 general1400_as_ci, 1057 general_nopad_ci, 1107 nopad_bin, 1216
  unicode_nopad_ci, 1238 unicode_520_nopad_ci
ucs2: 35 general_ci, 90 bin, 128 unicode_ci, 129 icelandic_ci, 130 latvian_ci, 131 romanian_ci, 132
  slovenian_ci, 133 polish_ci, 134 estonian_ci, 135 spanish_ci, 136 swedish_ci, 137 turkish_ci, 138
  czech_ci, 139 danish_ci, 140 lithuanian_ci, 141 slovak_ci, 142 spanish2_ci, 143 roman_ci, 144
  persian_ci, 145 esperanto_ci, 146 hungarian_ci, 147 sinhala_ci, 148 german2_ci, 149 croatian_ci, 150
  unicode_520_ci, 151 vietnamese_ci, 159 general_mysql500_ci, 640 croatian_ci, 641 myanmar_ci, 642
  thai_520_w2, 1059 general_nopad_ci, 1114 nopad_bin, 1152 unicode_nopad_ci, 1174 unicode_520_nopad_ci
cp866: 36 general_ci, 68 bin, 1060 general_nopad_ci, 1092 nopad_bin
keybcs2: 37 general_ci, 73 bin, 1061 general_nopad_ci, 1097 nopad_bin
macce: 38 general_ci, 43 bin, 1062 general_nopad_ci, 1067 nopad_bin
macroman: 39 general_ci, 53 bin, 1063 general_nopad_ci, 1077 nopad_bin
cp852: 40 general_ci, 81 bin, 1064 general_nopad_ci, 1105 nopad_bin
utf8mb4: 45 general_ci, 46 bin, 224 unicode_ci, 225 icelandic_ci, 226 latvian_ci, 227 romanian_ci, 228
  slovenian_ci, 229 polish_ci, 230 estonian_ci, 231 spanish_ci, 232 swedish_ci, 233 turkish_ci, 234
  czech_ci, 235 danish_ci, 236 lithuanian_ci, 237 slovak_ci, 238 spanish2_ci, 239 roman_ci, 240
  persian_ci, 241 esperanto_ci, 242 hungarian_ci, 243 sinhala_ci, 244 german2_ci, 245 croatian_ci, 246
  unicode_520_ci, 247 vietnamese_ci, 255 0900_ai_ci, 256 de_pb_0900_ai_ci, 257 is_0900_ai_ci, 258
  lv_0900_ai_ci, 259 ro_0900_ai_ci, 260 sl_0900_ai_ci, 261 pl_0900_ai_ci, 262 et_0900_ai_ci, 263
  es_0900_ai_ci, 264 sv_0900_ai_ci, 265 tr_0900_ai_ci, 266 cs_0900_ai_ci, 267 da_0900_ai_ci, 268
  lt_0900_ai_ci, 269 sk_0900_ai_ci, 270 es_trad_0900_ai_ci, 271 la_0900_ai_ci, 273 eo_0900_ai_ci, 274
  hu_0900_ai_ci, 275 hr_0900_ai_ci, 277 vi_0900_ai_ci, 278 0900_as_cs, 279 de_pb_0900_as_cs, 280
  is_0900_as_cs, 281 lv_0900_as_cs, 282 ro_0900_as_cs, 283 sl_0900_as_cs, 284 pl_0900_as_cs, 285
  et_0900_as_cs, 286 es_0900_as_cs, 287 sv_0900_as_cs, 288 tr_0900_as_cs, 289 cs_0900_as_cs, 290
  da_0900_as_cs, 291 lt_0900_as_cs, 292 sk_0900_as_cs, 293 es_trad_0900_as_cs, 294 la_0900_as_cs, 296
  eo_0900_as_cs, 297 hu_0900_as_cs, 298 hr_0900_as_cs, 300 vi_0900_as_cs, 303 ja_0900_as_cs, 304
  ja_0900_as_cs_ks, 305 0900_as_ci, 306 ru_0900_ai_ci, 307 ru_0900_as_cs, 308 zh_0900_as_cs, 309 0900_bin,
  310 nb_0900_ai_ci, 311 nb_0900_as_cs, 312 nn_0900_ai_ci, 313 nn_0900_as_cs, 314 sr_latn_0900_ai_ci, 315
  sr_latn_0900_as_cs, 316 bs_0900_ai_ci, 317 bs_0900_as_cs, 318 bg_0900_ai_ci, 319 bg_0900_as_cs, 320
  gl_0900_ai_ci, 321 gl_0900_as_cs, 322 mn_cyrl_0900_ai_ci, 323 mn_cyrl_0900_as_cs, 608 croatian_ci, 609
  myanmar_ci, 610 thai_520_w2, 611 general1400_as_ci, 1069 general_nopad_ci, 1070 nopad_bin, 1248
  unicode_nopad_ci, 1270 unicode_520_nopad_ci
utf16: 54 general_ci, 55 bin, 101 unicode_ci, 102 icelandic_ci, 103 latvian_ci, 104 romanian_ci, 105
  slovenian_ci, 106 polish_ci, 107 estonian_ci, 108 spanish_ci, 109 swedish_ci, 110 turkish_ci, 111
  czech_ci, 112 danish_ci, 113 lithuanian_ci, 114 slovak_ci, 115 spanish2_ci, 116 roman_ci, 117
  persian_ci, 118 esperanto_ci, 119 hungarian_ci, 120 sinhala_ci, 121 german2_ci, 122 croatian_ci, 123
  unicode_520_ci, 124 vietnamese_ci, 672 croatian_ci, 673 myanmar_ci, 674 thai_520_w2, 1078
  general_nopad_ci, 1079 nopad_bin, 1125 unicode_nopad_ci, 1147 unicode_520_nopad_ci
utf16le: 56 general_ci, 62 bin, 1080 general_nopad_ci, 1086 nopad_bin
cp1256: 57 general_ci, 67 bin, 1081 general_nopad_ci, 1091 nopad_bin
utf32: 60 general_ci, 61 bin, 160 unicode_ci, 161 icelandic_ci, 162 latvian_ci, 163 romanian_ci, 164
  slovenian_ci, 165 polish_ci, 166 estonian_ci, 167 spanish_ci, 168 swedish_ci, 169 turkish_ci, 170
  czech_ci, 171 danish_ci, 172 lithuanian_ci, 173 slovak_ci, 174 spanish2_ci, 175 roman_ci, 176
  persian_ci, 177 esperanto_ci, 178 hungarian_ci, 179 sinhala_ci, 180 german2_ci, 181 croatian_ci, 182
  unicode_520_ci, 183 vietnamese_ci, 736 croatian_ci, 737 myanmar_ci, 738 thai_520_w2, 1084
  general_nopad_ci, 1085 nopad_bin, 1184 unicode_nopad_ci, 1206 unicode_520_nopad_ci
binary: 63
geostd8: 92 general_ci, 93 bin, 1116 general_nopad_ci, 1117 nopad_bin
cp932: 95 japanese_ci, 96 bin, 1119 japanese_nopad_ci, 1120 nopad_bin
eucjpms: 97 japanese_ci, 98 bin, 1121 japanese_nopad_ci, 1122 nopad_bin
gb18030: 248 chinese_ci, 249 bin, 250 unicode_520_ci
"""

# MySQL 5.6.1's Croatian, which MariaDB renamed when it made its own.
_MARIADB_NAMES = {
    122: "utf16_croatian_mysql561_ci",
    149: "ucs2_croatian_mysql561_ci",
    181: "utf32_croatian_mysql561_ci",
    213: "utf8mb3_croatian_mysql561_ci",
    245: "utf8mb4_croatian_mysql561_ci",
}

# MariaDB 10.10: 2048 + charset << 8 + language << 3 + nopad << 2 + accents << 1 + case.
_UCA1400_CHARSETS = ("utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32")
_UCA1400_LANGUAGES = (
    "", "icelandic", "latvian", "romanian", "slovenian", "polish", "estonian", "spanish", "swedish",
    "turkish", "czech", "danish", "lithuanian", "slovak", "spanish2", "roman", "persian", "esperanto", "hungarian",
    "sinhala", "german2", None, None, "vietnamese", "croatian",
)  # fmt: skip

_CODECS = {
    "armscii8": "latin-1",
    "ascii": "ascii",
    "big5": "big5",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp866": "cp866",
    "cp932": "cp932",
    "dec8": "latin-1",
    "eucjpms": "euc_jp",
    "euckr": "cp949",
    "gb18030": "gb18030",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "geostd8": "latin-1",
    "greek": "iso8859-7",
    "hebrew": "iso8859-8",
    "hp8": "hp-roman8",
    "keybcs2": "cp852",
    "koi8r": "koi8-r",
    "koi8u": "koi8-u",
    "latin1": "cp1252",
    "latin2": "iso8859-2",
    "latin5": "iso8859-9",
    "latin7": "iso8859-13",
    "macce": "mac-latin2",
    "macroman": "mac-roman",
    "sjis": "shift_jis",
    "swe7": "ascii",
    "tis620": "tis-620",
    "ucs2": "utf-16-be",
    "ujis": "euc_jp",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
}

# From a code on, the characters of it and the following codes; U+FFFE means that the code is not assigned.
_OVERRIDES: dict[str, dict[int, str]] = {
    "dec8": {
        0xA4: "\ufffe",
        0xA6: "\ufffe",
        0xA8: "\u00a4",
        0xAC: "\ufffe\ufffe\ufffe\ufffe",
        0xB4: "\ufffe",
        0xB8: "\ufffe",
        0xBE: "\ufffe",
        0xD0: "\ufffe",
        0xD7: "\u0152",
        0xDD: "\u0178\ufffe",
        0xF0: "\ufffe",
        0xF7: "\u0153",
        0xFD: "\u00ff\ufffe\ufffe",
    },
    "swe7": {
        0x40: "\u00c9",
        0x5B: "\u00c4\u00d6\u00c5\u00dc",
        0x60: "\u00e9",
        0x7B: "\u00e4\u00f6\u00e5\u00fc\ufffe",
    },
    "keybcs2": {
        0x80: "\u010c",
        0x83: "\u010f",
        0x85: "\u010e\u0164\u010d\u011b\u011a\u0139\u00cd\u013e\u013a",
        0x8F: "\u00c1",
        0x91: "\u017e\u017d",
        0x95: "\u00d3\u016f\u00da\u00fd",
        0x9B: "\u0160\u013d\u00dd\u0158\u0165",
        0xA4: "\u0148\u0147\u016e\u00d4\u0161\u0159\u0155\u0154\u00bc\u00a1",
        0xB5: "\u2561\u2562\u2556\u2555",
        0xBD: "\u255c\u255b",
        0xC6: "\u255e\u255f",
        0xCF: "\u2567\u2568\u2564\u2565\u2559\u2558\u2552\u2553\u256b\u256a",
        0xDD: "\u258c\u2590",
        0xE0: "\u03b1",
        0xE2: (
            "\u0393\u03c0\u03a3\u03c3\u00b5\u03c4\u03a6\u0398\u03a9\u03b4\u221e\u03c6\u03b5\u2229"
            "\u2261\u00b1\u2265\u2264\u2320\u2321"
        ),
        0xF7: "\u2248",
        0xF9: "\u2219\u00b7\u221a\u207f\u00b2",
    },
    "armscii8": {
        0xA1: (
            "\u2741\u00a7\u0589)(\u00bb\u00ab\u2014.\u055d,-\u055f\u2026"
            "\u055c\u055b\u055e\u0531\u0561\u0532\u0562\u0533\u0563\u0534\u0564\u0535\u0565\u0536"
            "\u0566\u0537\u0567\u0538\u0568\u0539\u0569\u053a\u056a\u053b\u056b\u053c\u056c\u053d"
            "\u056d\u053e\u056e\u053f\u056f\u0540\u0570\u0541\u0571\u0542\u0572\u0543\u0573\u0544"
            "\u0574\u0545\u0575\u0546\u0576\u0547\u0577\u0548\u0578\u0549\u0579\u054a\u057a\u054b"
            "\u057b\u054c\u057c\u054d\u057d\u054e\u057e\u054f\u057f\u0550\u0580\u0551\u0581\u0552"
            "\u0582\u0553\u0583\u0554\u0584\u0555\u0585\u0556\u0586\u2019'"
        ),
    },
    "geostd8": {
        0x80: (
            "\u20ac\ufffe\u201a\ufffe\u201e\u2026\u2020\u2021\ufffe\u2030\ufffe\u2039\ufffe\ufffe"
            "\ufffe\ufffe\ufffe\u2018\u2019\u201c\u201d\u2022\u2013\u2014\ufffe\ufffe\ufffe\u203a"
            "\ufffe\ufffe\ufffe\ufffe"
        ),
        0xC0: (
            "\u10d0\u10d1\u10d2\u10d3\u10d4\u10d5\u10d6\u10f1\u10d7\u10d8\u10d9\u10da\u10db\u10dc"
            "\u10f2\u10dd\u10de\u10df\u10e0\u10e1\u10e2\u10f3\u10e3\u10e4\u10e5\u10e6\u10e7\u10e8"
            "\u10e9\u10ea\u10eb\u10ec\u10ed\u10ee\u10f4\u10ef\u10f0\u10f5\ufffe\ufffe\ufffe\ufffe"
            "\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe"
            "\ufffe\ufffe\ufffe\ufffe\ufffe\u2116\ufffe\ufffe"
        ),
    },
    "big5": {
        0xF9D6: "\u7881\u92b9\u88cf\u58bb\u6052\u7ca7\u5afa",
    },
    "latin1": {
        0x81: "\u0081",
        0x8D: "\u008d",
        0x8F: "\u008f\u0090",
        0x9D: "\u009d",
    },
    "hebrew": {
        0xAF: "\u203e",
    },
    "koi8u": {
        0x95: "\u2022",
    },
    "greek": {
        0xA1: "\u02bd\u02bc",
    },
    "cp866": {
        0xFC: "\u207f\u00b2",
    },
    "gb18030": {
        0x8135F437: "\ue7c7",
        0xA8BC: "\u1e3f",
    },
    "ujis": {
        0xA1C0: "\\",
    },
    "sjis": {
        0x815F: "\\",
    },
    "eucjpms": {
        0xA1C1: "\uff5e\u2225",
        0xA1DD: "\uff0d",
        0xA1F1: "\uffe0\uffe1",
        0xA2CC: "\uffe2",
        0xADA1: (
            "\u2460\u2461\u2462\u2463\u2464\u2465\u2466\u2467\u2468\u2469\u246a\u246b\u246c\u246d"
            "\u246e\u246f\u2470\u2471\u2472\u2473\u2160\u2161\u2162\u2163\u2164\u2165\u2166\u2167"
            "\u2168\u2169"
        ),
        0xADC0: (
            "\u3349\u3314\u3322\u334d\u3318\u3327\u3303\u3336\u3351\u3357\u330d\u3326\u3323\u332b"
            "\u334a\u333b\u339c\u339d\u339e\u338e\u338f\u33c4\u33a1"
        ),
        0xADDF: (
            "\u337b\u301d\u301f\u2116\u33cd\u2121\u32a4\u32a5\u32a6\u32a7\u32a8\u3231\u3232\u3239"
            "\u337e\u337d\u337c\u2252\u2261\u222b\u222e\u2211\u221a\u22a5\u2220\u221f\u22bf\u2235"
            "\u2229\u222a"
        ),
        0x8FA2B7: "\uff5e",
        0x8FA2C3: "\uffe4",
        0x8FF3F3: "\u2170\u2171\u2172\u2173\u2174\u2175\u2176\u2177\u2178\u2179\u2160\u2161",
        0x8FF4A1: (
            "\u2162\u2163\u2164\u2165\u2166\u2167\u2168\u2169\uff07\uff02\u3231\u2116\u2121\u70bb"
            "\u4efc\u50f4\u51ec\u5307\u5324\ufa0e\u548a\u5759\ufa0f\ufa10\u589e\u5bec\u5cf5\u5d53"
            "\ufa11\u5fb7\u6085\u6120\u654e\u663b\u6665\ufa12\uf929\u6801\ufa13\ufa14\u6a6b\u6ae2"
            "\u6df8\u6df2\u7028\ufa15\ufa16\u7501\u7682\u769e\ufa17\u7930\ufa18\ufa19\ufa1a\ufa1b"
            "\u7ae7\ufa1c\ufa1d\u7da0\u7dd6\ufa1e\u8362\ufa1f\u85b0\ufa20\ufa21\u8807\ufa22\u8b7f"
            "\u8cf4\u8d76\ufa23\ufa24\ufa25\u90de\ufa26\u9115\ufa27\ufa28\u9592\uf9dc\ufa29\u973b"
            "\u974d\u9751\ufa2a\ufa2b\ufa2c\u999e\u9ad9\u9b72\ufa2d\u9ed1"
        ),
    },
}

_UNASSIGNED = "\ufffe"

Decode = Callable[[bytes], str]


class Undecoded(bytes):
    """Bytes of a text column that are not text in its charset, or whose charset is not known. They are the
    column's bytes, unchanged; the type is the mark."""

    charset: str | None

    def __new__(cls, value: bytes, charset: str | None = None) -> Undecoded:
        self = super().__new__(cls, value)
        self.charset = charset
        return self

    def __repr__(self) -> str:
        return f"Undecoded({bytes(self)!r}, {self.charset!r})"


def _parse_collations() -> dict[int, tuple[str, str]]:
    found = {}
    for line in _COLLATIONS.strip().replace("\n  ", " ").splitlines():
        charset, _, entries = line.partition(": ")
        for entry in entries.split(", "):
            number, _, rest = entry.partition(" ")
            found[int(number)] = charset, f"{charset}_{rest}" if rest else charset
    for uca in range(2048, 2048 + (len(_UCA1400_CHARSETS) << 8)):
        language = uca >> 3 & 31
        name = _UCA1400_LANGUAGES[language] if language < len(_UCA1400_LANGUAGES) else None
        if name is not None:
            charset = _UCA1400_CHARSETS[uca - 2048 >> 8]
            words = [charset, "uca1400", name, "nopad" if uca & 4 else ""]
            words += ["as" if uca & 2 else "ai", "cs" if uca & 1 else "ci"]
            found[uca] = charset, "_".join(word for word in words if word)
    return found


COLLATIONS: dict[int, tuple[str, str]] = _parse_collations()
"""Collation id to (charset name, collation name)."""


def charset_name(collation: int) -> str | None:
    """The charset of a collation id; None if no server we know has it."""
    found = COLLATIONS.get(collation)
    return found[0] if found else None


def collation_name(collation: int, mariadb: bool = False) -> str | None:
    """The name of a collation id; None if no server we know has it."""
    if mariadb and collation in _MARIADB_NAMES:
        return _MARIADB_NAMES[collation]
    found = COLLATIONS.get(collation)
    return found[1] if found else None


def _single_byte_table(codec: str, overrides: dict[int, str]) -> str:
    table = [bytes((code,)).decode(codec, "replace").replace("\ufffd", _UNASSIGNED) for code in range(256)]
    for start, characters in overrides.items():
        table[start : start + len(characters)] = characters
    return "".join(table)


def _private_use(code: int) -> str | None:
    """ujis and eucjpms: ten rows of user-defined characters in each of their two planes."""
    row, cell = code >> 8 & 0xFF, code & 0xFF
    if not 0xF5 <= row <= 0xFE or not 0xA1 <= cell <= 0xFE:
        return None
    return chr(0xE000 + (row - 0xF5) * 94 + cell - 0xA1 + (0x3AC if code > 0xFFFF else 0))


def _unit_size(charset: str, data: bytes, pos: int) -> int:
    """The size of the character at ``pos``, as the charset's own rules have it."""
    lead = data[pos]
    if lead < 0x80 or (charset == "sjis" and 0xA1 <= lead <= 0xDF):
        return 1
    if charset in ("ujis", "eucjpms") and lead == 0x8F:
        return 3
    if charset == "gb18030" and pos + 1 < len(data) and 0x30 <= data[pos + 1] <= 0x39:
        return 4
    return 2


def _corrected(charset: str, codec: str, overrides: dict[int, str]) -> Decode:
    """A multi-byte decoder that gives what the server gives where that differs from Python's codec."""
    codes = {start + index: char for start, text in overrides.items() for index, char in enumerate(text)}
    differing: set[str] = set()
    for code in codes:
        unit = code.to_bytes((code.bit_length() + 7) // 8, "big")
        differing.update(unit.decode(codec, "ignore"))
    private = charset in ("ujis", "eucjpms")

    def slow(data: bytes) -> str:
        out = []
        pos = 0
        while pos < len(data):
            unit = data[pos : pos + _unit_size(charset, data, pos)]
            code = int.from_bytes(unit, "big")
            character = codes.get(code)
            if character is None and private and len(unit) > 1:
                character = _private_use(code)
            out.append(unit.decode(codec) if character is None else character)
            pos += len(unit)
        return "".join(out)

    def decode(data: bytes) -> str:
        try:
            text = data.decode(codec)
        except UnicodeDecodeError:
            return slow(data)
        return text if differing.isdisjoint(text) else slow(data)

    return decode


def _single_byte(charset: str, table: str) -> Decode:
    characters = dict(enumerate(table))

    def decode(data: bytes) -> str:
        text = data.decode("latin-1").translate(characters)
        if _UNASSIGNED in text:
            raise UnicodeDecodeError(charset, data, 0, len(data), "an unassigned byte")
        return text

    return decode


@cache
def decoder(charset: str) -> Decode | None:
    """The function from bytes to text; it raises ``UnicodeDecodeError``. None for binary and for names that
    no server we know has."""
    codec = _CODECS.get(charset)
    if codec is None:
        return None
    overrides = _OVERRIDES.get(charset)
    if overrides is None:
        return lambda data: data.decode(codec)
    if max(overrides) > 0xFF:
        return _corrected(charset, codec, overrides)
    return _single_byte(charset, _single_byte_table(codec, overrides))


@lru_cache(maxsize=4096)
def collation_decoder(collation: int) -> Decode | None:
    charset = charset_name(collation)
    return None if charset is None else decoder(charset)


def decode_text(value: bytes, collation: int | None) -> str | bytes:
    """The text of ``value``; bytes for binary; ``Undecoded`` where it is not text or the charset unknown."""
    if collation == BINARY:
        return value
    decode = None if collation is None else collation_decoder(collation)
    if decode is None or collation is None:
        return Undecoded(value, None if collation is None else f"collation {collation}")
    try:
        return decode(value)
    except UnicodeDecodeError:
        return Undecoded(value, charset_name(collation))


def charset_of_name(name: str) -> str:
    """The charset that a user means: its name, a collation's, or an old spelling (utf8, utf8mb3)."""
    folded = name.strip().lower()
    folded = {"utf8": "utf8mb3"}.get(folded, folded)
    if folded in _CODECS or folded == "binary":
        return folded
    for charset, collation in COLLATIONS.values():
        if collation == folded:
            return charset
    raise UsageError(f"no charset is called {name!r}")
