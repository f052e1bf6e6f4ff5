-- Tell what this worker used of a provider key's limits and what the server said to it, renew its share, and
-- learn what the others were told. core/limits/shared.py is the model of it.
--
-- A limit is NULL where there is none. At most `most_concurrency` requests are shared out at any moment, to
-- shares that have not ended. Requests and tokens of a minute are shared out by the piece: what a share holds
-- counts until a minute after the share has ended, and what was used until a minute after it was told. So no
-- minute holds more than its limit, whatever worker is paused or dies.
--
-- What is kept is what the caller may still use while it waits for the answer. With 0 seconds the share ends.
CREATE OR REPLACE FUNCTION failproof.share_limits(
    limited_key text,
    limited_server text,
    own_share uuid,
    own_holder text,
    seconds double precision,
    most_concurrency integer,
    most_requests bigint,
    most_tokens bigint,
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
    answered_s double precision
)
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    limited boolean := num_nonnulls(most_concurrency, most_requests, most_tokens) > 0;
    told boolean := hold_s > 0 OR was_cut OR was_refused OR was_answered;
    moment timestamptz := clock_timestamp();
    said record;
    others record;
    uses record;
    demanding integer;
    turn integer;
BEGIN
    IF limited OR told THEN
        INSERT INTO failproof.provider_limits AS p (provider_key, server)
        VALUES (limited_key, limited_server)
        ON CONFLICT (provider_key) DO NOTHING;
        PERFORM FROM failproof.provider_limits AS p
        WHERE p.provider_key = limited_key
        FOR UPDATE;
        moment := clock_timestamp();
    END IF;
    IF told THEN
        -- Two cuts within two seconds are one: the second worker did not know of the first one yet.
        UPDATE failproof.provider_limits AS p
        SET
            held_until = greatest(p.held_until, moment + make_interval(secs => least(hold_s, 86400 * 365))),
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
        WHEN isfinite(said.answered_at) THEN extract(epoch FROM moment - said.answered_at)
    END;
    IF NOT limited THEN
        RETURN NEXT;
        RETURN;
    END IF;
    DELETE FROM failproof.limit_uses AS u
    WHERE u.provider_key = limited_key AND u.counts_until <= moment;
    DELETE FROM failproof.limit_shares AS s
    WHERE s.provider_key = limited_key
        AND (s.share_id = own_share OR s.expires_at <= moment - interval '60 seconds');
    IF used_requests > 0 OR used_tokens > 0 THEN
        INSERT INTO failproof.limit_uses AS u (provider_key, counts_until, requests, tokens)
        VALUES (
            limited_key, date_trunc('second', moment) + interval '61 seconds', used_requests, used_tokens
        )
        ON CONFLICT (provider_key, counts_until) DO UPDATE
        SET requests = u.requests + excluded.requests, tokens = u.tokens + excluded.tokens;
    END IF;
    SELECT
        coalesce(sum(s.concurrency) FILTER (WHERE s.expires_at > moment), 0) AS concurrency,
        coalesce(sum(s.requests), 0) AS requests,
        coalesce(sum(s.tokens), 0) AS tokens,
        count(*) FILTER (WHERE s.expires_at > moment AND s.wanted_concurrency > 0) AS demanding,
        count(*) FILTER (
            WHERE s.expires_at > moment AND s.wanted_concurrency > 0 AND s.share_id < own_share
        ) AS before_own,
        coalesce(
            bool_or(s.wanted_concurrency > s.concurrency) FILTER (WHERE s.expires_at > moment), false
        ) AS starving,
        count(*) FILTER (WHERE s.expires_at > moment AND s.is_waiting) AS waiting
    INTO others
    FROM failproof.limit_shares AS s
    WHERE s.provider_key = limited_key;
    SELECT coalesce(sum(u.requests), 0) AS requests, coalesce(sum(u.tokens), 0) AS tokens INTO uses
    FROM failproof.limit_uses AS u
    WHERE u.provider_key = limited_key;
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
    IF seconds > 0 THEN
        INSERT INTO failproof.limit_shares AS s (
            provider_key, share_id, holder, concurrency, wanted_concurrency, requests, tokens,
            is_waiting, expires_at
        )
        VALUES (
            limited_key, own_share, own_holder, granted_concurrency, wants_concurrency,
            granted_requests, granted_tokens, waits,
            moment + make_interval(secs => seconds)
        );
    END IF;
    RETURN NEXT;
END;
$$;
