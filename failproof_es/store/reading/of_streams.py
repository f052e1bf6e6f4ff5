"""The events of chosen streams, always looked up by the index of streams.

`WHERE originator_id = ANY (...)` leaves the choice to the planner. Until the server has analyzed a
log, the planner expects a stream to be a large part of it, and scans the log for a few streams: in
the first minute of a large run, when every worker reads. So each stream is looked up on its own.
"""

from psycopg import sql

_EVENTS = sql.SQL(
    "(SELECT DISTINCT stream FROM unnest({streams}::uuid[]) AS given (stream)) AS wanted "
    "CROSS JOIN LATERAL (SELECT * FROM failproof.stored_events AS e "
    "WHERE e.originator_id = wanted.stream OFFSET 0) AS found"
)


def events_of_streams(streams: sql.Composable) -> sql.Composed:
    """A FROM item with the events of the streams in an array, which may contain duplicates.

    Its columns are those of `failproof.stored_events`, and `stream`.
    """
    return _EVENTS.format(streams=streams)
