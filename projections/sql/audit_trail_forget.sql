-- What is neither on the run's own stream, nor on the one beside it, nor a person's word.
DELETE FROM audit_trail
WHERE test_run_id = %(run)s
    AND failproof.readable(details) ->> 'stream_id' <> ALL (%(elsewhere)s::text[])
    AND event <> %(reviewed)s
