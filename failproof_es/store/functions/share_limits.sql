-- Tell what this worker used of a provider key's limits and what the server said to it, renew its share, and
-- learn what the others were told. core/limits/shared.py is the model of it.
--
-- A limit is NULL where there is none. At most `most_concurrency` requests are shared out at any moment, to
-- shares that have not ended. Requests and tokens of a minute are shared out by the piece: what a share holds
-- counts until a minute after the share has ended, and what was used until a minute after it was told. So no
-- minute holds more than its limit, whatever worker is paused or dies.
--
-- Of each limit the lowest holds that any share states which has not ended: for all shares, those that state
-- none included. It is returned, too.
--
-- What is kept is what the caller may still use while it waits for the answer. With 0 seconds the share ends.
-- A share lasts a minute at most, so a limit that nobody states any more is soon forgotten; and its first claim is
-- that of a worker that told of itself within a minute.
-- Claims have numbers, which grow. One that comes after a newer one is refused; the newest one that comes twice
-- A hold ends after a day at most, which is as long as a run may wait.
-- changes nothing and is answered as before. For that a share is remembered for an hour after its end.
CREATE OR REPLACE FUNCTION failproof.share_limits(
    limited_key text,
    limited_server text,
    own_share uuid,
    own_holder text,
    claim_number bigint,
    seconds double precision,
    own_concurrency integer,
    own_requests bigint,
    own_tokens bigint,
    keeps_concurrency integer,
    wants_concurrency integer,
    keeps_requests bigint,
    wants_requests bigint,
    used_requests bigint,
    keeps_tokens bigint,
    wants_tokens bigint,
    used_tokens bigint,
    waits boolean,
    hold_s double precision,
    was_cut boolean,
    was_refused boolean,
    was_answered boolean
) RETURNS TABLE (
    granted_concurrency integer,
    granted_requests bigint,
    granted_tokens bigint,
    fair_concurrency integer,
    held_s double precision,
    present_cuts bigint,
    answered_s double precision,
    most_concurrency integer,
    most_requests bigint,
    most_tokens bigint
)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    limited boolean;
    told boolean := hold_s > 0 OR was_cut OR was_refused OR was_answered;
    moment timestamptz := clock_timestamp();
    newest record;
    repeated boolean := false;
    is_new boolean;
    said record;
    others record;
    uses record;
    demanding integer;
    turn integer;
BEGIN
    IF (seconds >= 0 AND seconds <= 60) IS NOT TRUE THEN
        RAISE EXCEPTION 'a share for % s: it must be at least 0 and at most 60', seconds
            USING ERRCODE = '22023';
    END IF;
    limited := num_nonnulls(own_concurrency, own_requests, own_tokens) > 0 OR EXISTS (
        SELECT FROM failproof.limit_shares AS s
        WHERE s.provider_key = limited_key
            AND s.expires_at > moment
            AND CASE
                WHEN s.share_id = own_share THEN seconds <= 0
                ELSE num_nonnulls(s.stated_concurrency, s.stated_requests, s.stated_tokens) > 0
            END
    );
    IF limited OR told THEN
        INSERT INTO failproof.provider_limits AS p (provider_key, server)
        VALUES (limited_key, limited_server)
        ON CONFLICT (provider_key) DO NOTHING;
        PERFORM FROM failproof.provider_limits AS p
        WHERE p.provider_key = limited_key
        FOR UPDATE;
        moment := clock_timestamp();
        SELECT s.claims, s.concurrency, s.requests, s.tokens INTO newest
        FROM failproof.limit_shares AS s
        WHERE s.provider_key = limited_key AND s.share_id = own_share;
        is_new := NOT FOUND;
        repeated := FOUND AND newest.claims = claim_number;
        IF is_new AND seconds > 0 AND NOT EXISTS (
            SELECT FROM failproof_queue.failproof_workers AS w
            WHERE w.holder = own_holder
                -- It may have told of itself since that moment.
                AND w.heartbeat BETWEEN moment - interval '60 seconds' AND clock_timestamp()
        ) THEN
            RAISE EXCEPTION 'a share for %: no such worker told of itself within a minute', own_holder
                USING ERRCODE = '55000'; -- asked again, as when the server is away: it may be about to tell
        END IF;
        IF newest.claims > claim_number THEN
            RAISE EXCEPTION 'share %: claim % comes after claim %',
                own_share, claim_number, newest.claims
                USING ERRCODE = '40001';
        END IF;
    END IF;
    IF told AND NOT repeated THEN
        -- Two cuts within two seconds are one: the second worker did not know of the first one yet.
        UPDATE failproof.provider_limits AS p
        SET
            held_until = greatest(p.held_until, moment + make_interval(secs => least(hold_s, 86400))),
            cuts = p.cuts + (was_cut AND p.cut_at <= moment - interval '2 seconds')::integer,
            cut_at = CASE WHEN was_cut THEN moment ELSE p.cut_at END,
            refused_at = CASE WHEN was_refused THEN moment ELSE p.refused_at END,
            answered_at = CASE WHEN was_answered THEN moment ELSE p.answered_at END
        WHERE p.provider_key = limited_key;
    END IF;
    SELECT p.held_until, p.cuts, p.answered_at INTO said
    FROM failproof.provider_limits AS p
    WHERE p.provider_key = limited_key;
    -- Before PostgreSQL 17 nothing is subtracted from an infinite time, nor that from another.
    held_s := CASE
        WHEN said.held_until > moment THEN extract(epoch FROM said.held_until - moment) ELSE 0
    END;
    present_cuts := coalesce(said.cuts, 0);
    answered_s := CASE
        WHEN isfinite(said.answered_at)
            THEN greatest(0, extract(epoch FROM moment - said.answered_at))
    END;
    IF NOT (limited OR told) THEN
        RETURN NEXT;
        RETURN;
    END IF;
    DELETE FROM failproof.limit_uses AS u
    WHERE u.provider_key = limited_key AND u.counts_until <= moment;
    DELETE FROM failproof.limit_shares AS s
    WHERE s.provider_key = limited_key
        AND s.share_id <> own_share
        AND s.expires_at <= moment - interval '1 hour';
    IF repeated THEN
        used_requests := 0;
        used_tokens := 0;
    END IF;
    IF used_requests > 0 OR used_tokens > 0 THEN
        INSERT INTO failproof.limit_uses AS u (provider_key, counts_until, requests, tokens)
        VALUES (
            limited_key, date_trunc('second', moment) + interval '61 seconds', used_requests, used_tokens
        )
        ON CONFLICT (provider_key, counts_until) DO UPDATE
        SET requests = u.requests + excluded.requests, tokens = u.tokens + excluded.tokens;
    END IF;
    SELECT
        coalesce(sum(s.concurrency) FILTER (WHERE s.live), 0) AS concurrency,
        coalesce(sum(s.requests), 0) AS requests,
        coalesce(sum(s.tokens), 0) AS tokens,
        count(*) FILTER (WHERE s.live AND s.wanted_concurrency > 0) AS demanding,
        count(*) FILTER (
            WHERE s.live AND s.wanted_concurrency > 0 AND s.share_id < own_share
        ) AS before_own,
        coalesce(bool_or(s.wanted_concurrency > s.concurrency) FILTER (WHERE s.live), false) AS starving,
        count(*) FILTER (WHERE s.live AND s.is_waiting) AS waiting,
        min(s.stated_concurrency) FILTER (WHERE s.live) AS stated_concurrency,
        min(s.stated_requests) FILTER (WHERE s.live) AS stated_requests,
        min(s.stated_tokens) FILTER (WHERE s.live) AS stated_tokens
    INTO others
    FROM (
        SELECT h.*, h.expires_at > moment AS live
        FROM failproof.limit_shares AS h
        WHERE h.provider_key = limited_key
            AND h.share_id <> own_share
            AND h.expires_at > moment - interval '60 seconds'
    ) AS s;
    most_concurrency := least(own_concurrency, others.stated_concurrency);
    most_requests := least(own_requests, others.stated_requests);
    most_tokens := least(own_tokens, others.stated_tokens);
    IF repeated THEN
        granted_concurrency := newest.concurrency;
        granted_requests := newest.requests;
        granted_tokens := newest.tokens;
        fair_concurrency := most_concurrency;
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT coalesce(sum(u.requests), 0) AS requests, coalesce(sum(u.tokens), 0) AS tokens INTO uses
    FROM failproof.limit_uses AS u
    WHERE u.provider_key = limited_key;
    IF seconds <= 0 THEN -- what it gives back is free at once
        most_concurrency := 0;
        most_requests := 0;
        most_tokens := 0;
    END IF;
    IF most_concurrency IS NOT NULL THEN
        -- Where somebody has less than it wants, each gets its part; what is left over, and with it a limit
        -- below the number of workers, goes round.
        demanding := others.demanding + 1;
        turn := floor(extract(epoch FROM moment) / 10)::bigint % demanding;
        fair_concurrency := CASE
            WHEN others.starving THEN most_concurrency / demanding
                + ((others.before_own + turn) % demanding < most_concurrency % demanding)::integer
            ELSE most_concurrency
        END;
        granted_concurrency := greatest(
            0,
            least(
                most_concurrency - others.concurrency,
                greatest(keeps_concurrency, least(wants_concurrency, fair_concurrency))
            )
        );
    END IF;
    IF most_requests IS NOT NULL THEN
        granted_requests := failproof.rate_share(
            most_requests - uses.requests - others.requests, keeps_requests, wants_requests,
            1 + others.waiting
        );
    END IF;
    IF most_tokens IS NOT NULL THEN
        granted_tokens := failproof.rate_share(
            most_tokens - uses.tokens - others.tokens, keeps_tokens, wants_tokens,
            CASE WHEN waits THEN 0 ELSE 2 * (1 + others.waiting) END
        );
    END IF;
    INSERT INTO failproof.limit_shares AS s (
        provider_key, share_id, holder, concurrency, wanted_concurrency, requests, tokens,
        is_waiting, expires_at, claims, stated_concurrency, stated_requests, stated_tokens
    )
    VALUES (
        limited_key, own_share, own_holder, granted_concurrency,
        least(wants_concurrency, most_concurrency), granted_requests, granted_tokens, waits,
        moment + make_interval(secs => seconds), claim_number, own_concurrency, own_requests, own_tokens
    )
    ON CONFLICT (provider_key, share_id) DO UPDATE
    SET
        concurrency = excluded.concurrency,
        wanted_concurrency = excluded.wanted_concurrency,
        requests = excluded.requests,
        tokens = excluded.tokens,
        is_waiting = excluded.is_waiting,
        expires_at = excluded.expires_at,
        claims = excluded.claims,
        stated_concurrency = excluded.stated_concurrency,
        stated_requests = excluded.stated_requests,
        stated_tokens = excluded.stated_tokens;
    RETURN NEXT;
END;
$$;
