-- Whether these projections stand at the head of the log, as this program writes them.
SELECT
    (SELECT count(to_regclass(name)) FROM unnest(%(relations)s::text[]) AS name)
        = cardinality(%(relations)s::text[])
    AND (
        SELECT count(*)
        FROM projections.positions AS stands
        JOIN unnest(%(names)s::text[], %(versions)s::integer[]) AS wanted (name, version)
            USING (name, version)
        WHERE stands.position >= coalesce(
            (SELECT max(notification_id) FROM failproof.stored_events), 0
        )
    ) = cardinality(%(names)s::text[])
