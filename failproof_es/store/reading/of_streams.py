"""The events of chosen streams, found by the index of streams whatever the planner expects.

`WHERE originator_id = ANY (...)` leaves the choice to the planner. Until the server has analyzed a
log, it takes a stream for a large part of it, and reads all of the log for a few streams. That is
the first minute of a large run, when every worker asks. So each stream is looked up by itself.
"""

from psycopg import sql

_EVENTS = sql.SQL(
    "(SELECT DISTINCT stream FROM unnest({streams}::uuid[]) AS given (stream)) AS wanted "
    "CROSS JOIN LATERAL (SELECT * FROM failproof.stored_events AS e "
    "WHERE e.originator_id = wanted.stream OFFSET 0) AS found"
)


def events_of_streams(streams: sql.Composable) -> sql.Composed:
    """What stands behind FROM: the events of the streams in an array, which may name one twice.

    The columns are those of `failproof.stored_events`, and `stream`.
    """
    return _EVENTS.format(streams=streams)
