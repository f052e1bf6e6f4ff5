"""What a hostile model answers, to try pages and downloads with: at least sixty kinds."""

from __future__ import annotations

from tests.harmless_html import hostile

_MORE = (
    # markup and script
    "<script>window.ran=1</script>", "<ScRiPt >window.ran=1</sCrIpT >",
    "<script/x>window.ran=1</script>",
    "<<script>window.ran=1//<</script>", "<img src=x onerror=window.ran=1>",
    "<body onload=window.ran=1>", "<details open ontoggle=window.ran=1>",
    "<input autofocus onfocus=window.ran=1>", "<video><source onerror=window.ran=1>",
    "<marquee onstart=window.ran=1>", "</pre><script>window.ran=1</script>",
    "</bdi><img src=http://127.0.0.1:{port}/bdi>", "<a href=javascript:window.ran=1>x</a>",
    "<iframe src=http://127.0.0.1:{port}/frame></iframe>",
    "<object data=http://127.0.0.1:{port}/o>",
    "<embed src=http://127.0.0.1:{port}/e>", "<link rel=stylesheet href=http://127.0.0.1:{port}/l>",
    "<link rel=prefetch href=http://127.0.0.1:{port}/p>", "<base href=http://127.0.0.1:{port}/>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:{port}/m'>",
    "<form action=http://127.0.0.1:{port}/f><button autofocus>x</button></form>",
    "<template><img src=http://127.0.0.1:{port}/t></template>",
    "<noscript><p title='</noscript><img src=x onerror=window.ran=1>'>",
    "&lt;script&gt;window.ran=1&lt;/script&gt;", "&#60;script&#62;window.ran=1&#60;/script&#62;",
    "<math><a xlink:href=javascript:window.ran=1>x", "<portal src=http://127.0.0.1:{port}/portal>",
    # SVG and CSS
    "<svg><script>window.ran=1</script></svg>", "<svg/onload=window.ran=1>",
    "<svg><use href=http://127.0.0.1:{port}/u#x>",
    "<svg><animate onbegin=window.ran=1 attributeName=x>",
    "<style>@import url(http://127.0.0.1:{port}/i)</style>",
    "<style>*{display:none!important}</style>",
    "<div style='position:fixed;inset:0;background:url(http://127.0.0.1:{port}/b)'>x</div>",
    # attributes and templates
    "' onclick='window.ran=1", '" style="position:fixed" x="', "`onmouseover=window.ran=1",
    "{{ config }}", "${7*7}", "#{7*7}", "{% raw %}", "constructor.constructor('window.ran=1')()",
    # order and hiding
    "\u202eabc\u202c", "\u2067\u202b\u2069x", "a\u200db\u200cc", "\u061c\u200f\u200e",
    "\u2028\u2029",
    "\u05d0\u05d1 (abc) \u05d2", "\U000e0001\U000e0061\U000e007f", "pass\u00adword", "\ufeffx",
    # terminals
    "\x1b]8;;http://127.0.0.1:{port}/osc\x07x\x1b]8;;\x07", "\x1b]52;c;eA==\x07", "\x1b[8mx\x1b[0m",
    "\x9d0;x\x9c", "\x08\x08\x08ok", "a\rb",
    # spreadsheets
    "=HYPERLINK(\"http://127.0.0.1:{port}/h\",\"x\")", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(1+1)",
    "\t=1+1", "\r=1+1", "=1+1\",\"=2", "\uff1d1+1", "\n=1+1", "'=1+1", '"\n=1+1,"',
)  # fmt: skip


def hostile_answers(port: int) -> list[str]:
    """Each points to a server on loopback where it points anywhere. The last two are long."""
    found = [text for text in hostile(port).values() if text]
    found = [each for each in found if not any("\ud800" <= one <= "\udfff" for one in each)]
    return [
        *found,
        *(each.replace("{port}", str(port)) for each in _MORE),
        "<b>" + "x" * 1_200_000,
        "<i>line\n" * 100_000,
    ]
