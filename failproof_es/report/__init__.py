"""Documents for people and machines, made of what the log holds.

    the log -> observations -> analysis, comparison, judge_agreement, conclusions
            -> content.Report (put together by making)
            -> json_csv, or page (its sections: page_*, its pictures: charts_*)
            -> page_html, page_markdown

`formats.documents` is where the commands enter. Only `observations`, `builder`, `transcripts` and
`judge_agreement` read the log; the rest is pure.
"""
