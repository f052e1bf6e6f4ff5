"""Reports for people and machines, made from the log.

    the log -> observations -> analysis, comparison, judge_agreement, conclusions
            -> content.Report (put together by builder)
            -> json_csv, or page (its sections: page_*, its pictures: charts_*)
            -> page_html, page_markdown

The commands call `formats.documents`. Only `observations`, `builder`, `transcripts` and
`judge_agreement` read the log; the rest is pure.
"""
