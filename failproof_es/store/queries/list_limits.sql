-- Who has which share of the limits of which provider key, and which of them nobody may send to now.
SELECT
    p.server,
    left(p.provider_key, 8),
    s.holder,
    s.concurrency,
    s.wanted_concurrency,
    s.requests,
    s.tokens,
    coalesce(s.is_waiting, false),
    CASE
        WHEN p.held_until > now() THEN extract(epoch FROM p.held_until - now()) ELSE 0
    END::float8
FROM failproof.provider_limit_list AS p
LEFT JOIN failproof.limit_share_list AS s
    ON s.provider_key = p.provider_key AND s.expires_at > clock_timestamp()
WHERE s.share_id IS NOT NULL OR p.held_until > clock_timestamp()
ORDER BY p.server, p.provider_key, s.holder, s.share_id
