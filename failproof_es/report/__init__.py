"""Reports for people and machines, made from the log.

    the log -> data: observations -> analysis, comparison, judge_agreement, conclusions
                     -> content.Report (put together by builder)
            -> formats.json_csv, or page: sections made of blocks, their pictures from charts
                     -> formats.html, formats.markdown

The commands call `formats.documents`. Only `observations`, `builder`, `transcripts` and
`judge_agreement` read the log; the rest is pure.
"""
