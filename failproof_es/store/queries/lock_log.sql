-- The lock that every append takes: whoever holds it sees all that was appended before.
SELECT pg_advisory_xact_lock(hashtextextended('failproof.append', 0))
