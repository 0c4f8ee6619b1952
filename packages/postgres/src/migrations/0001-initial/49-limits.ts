/**
 * Whether a place that is looked for by its run is taken. Written so that no plan can take the index of all places that are, or of all
 * that were given back: while statistics say that there are few, those seem to cost the same. For the same reason rows of given runs are
 * found by subqueries with a limit, never by joins.
 */
const TAKEN = "p.given_back::int = 0";

export const LIMITS = String.raw`
-- Places in queues with limits (admit in model/decisions/admission.ts). A claim that finds the queue locked by another one leaves it
-- alone and asks again in a moment; nothing waits for that lock but a change of the limits.
create function limited_lock(p_limited int) returns bigint language sql stable as
$$ select hashtextextended(current_schema() || E'\n\nlimited\n' || p_limited, 0) $$;

create function limited_lines(p_limited int[]) returns text[] language plpgsql stable as $$
begin
  return array(select case when q.kind = 'runs' then 'd' else 'q' end || E'\t' || q.namespace || E'\t' || q.queue
                 from limited q where q.limited_id = any (p_limited)
                  and (select 1 from lines l where l.limited_id = q.limited_id limit 1) is not null);
end $$;

-- They do not wait any more. Their rows are locked.
create function leave_lines(p_run uuid[], p_seq int[]) returns void
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  delete from lines l
   where l.ctid = any (array(select x.ctid from unnest(p_run, p_seq) as k(run_id, seq) cross join lateral (
                               select y.ctid from lines y where y.run_id = k.run_id and y.seq = k.seq limit 1) x));
end $$;

-- Runs have ended (seq 0), or attempts of tasks: their places are free, and they do not wait any more. Their rows are locked. Returns
-- the hints for those who are next.
create function give_places_back(p_run uuid[], p_seq int[]) returns text[]
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare v_limited int[];
begin
  perform leave_lines(p_run, p_seq);
  with given as (
    update places p set given_back = true
     where p.ctid = any (array(select x.ctid from unnest(p_run, p_seq) as k(run_id, seq) cross join lateral (
                                 select p.ctid from places p where p.run_id = k.run_id and p.seq = k.seq and ${TAKEN} limit 1) x))
    returning p.limited_id
  )
  select array_agg(distinct g.limited_id) into v_limited from given g;
  if v_limited is null then return null; end if;
  return limited_lines(v_limited);
end $$;

-- Continuations inherit places, if they are in the same queue. Returns hints.
create function hand_places_on(p_run uuid[]) returns text[]
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  update places p set run_id = (select r.continued_as from runs r where r.run_id = p.run_id)
   where p.ctid = any (array(select x.ctid from unnest(p_run) as k(run_id) cross join lateral (
                               select p.ctid, p.run_id from places p where p.run_id = k.run_id and p.seq = 0 and ${TAKEN} limit 1) x
                              where (select n.queue from runs r join lanes n on n.lane_id = r.lane_id where r.run_id = x.run_id)
                                  = (select n.queue from runs r join runs h on h.run_id = r.continued_as join lanes n on n.lane_id = h.lane_id
                                      where r.run_id = x.run_id)));
  return give_places_back(p_run, array_fill(0, array[cardinality(p_run)]));
end $$;

-- They take their turn from now on: not before those that are ready already. p_less: so many of their places were given back.
create function keys_ready(p_limited int, p_key text[], p_less bigint[], p_virtual double precision) returns void
language plpgsql volatile as $$
begin
  insert into limited_keys as k (limited_id, key, running, virtual_time, ready)
  select p_limited, n.key, -coalesce(sum(n.less), 0), p_virtual, true from unnest(p_key, p_less) as n(key, less) group by n.key
  on conflict (limited_id, key) do update set running = k.running + excluded.running, ready = true, wake_at = null,
    virtual_time = case when k.ready then k.virtual_time else greatest(k.virtual_time, excluded.virtual_time) end;
end $$;

-- Counts places that were given back: all, or those of these runs and tasks. Returns how many.
create function count_places_back(p_limited int, p_virtual double precision, p_run uuid[] default null, p_seq int[] default null)
returns bigint language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off as $$
declare v_key text[]; v_n bigint[];
begin
  if p_run is null then
    with back as (delete from places p where p.limited_id = p_limited and p.given_back returning p.key),
         counted as (select b.key, count(*) as n from back b group by b.key)
    select array_agg(c.key), array_agg(c.n) into v_key, v_n from counted c;
  else
    with back as (
      delete from places p
       where p.ctid = any (array(select x.ctid from unnest(p_run, p_seq) as k(run_id, seq) cross join lateral (
                                   select p.ctid from places p where p.run_id = k.run_id and p.seq = k.seq and not (${TAKEN}) limit 1) x))
      returning p.key),
         counted as (select b.key, count(*) as n from back b group by b.key)
    select array_agg(c.key), array_agg(c.n) into v_key, v_n from counted c;
  end if;
  if v_key is null then return 0; end if;
  perform keys_ready(p_limited, v_key, v_n, p_virtual);
  return (select sum(n) from unnest(v_n) n);
end $$;

-- How many runs more may wait in a queue; null: any number. What is in line is counted there.
create function backlog_room(p_limited int, p_now bigint) returns bigint
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off as $$
declare v_backlog bigint := (select (q.limits ->> 'backlog')::bigint from limited q where q.limited_id = p_limited);
begin
  if v_backlog is null then return null; end if;
  return greatest(0, v_backlog - (select count(*) from (select 1 from lines l where l.limited_id = p_limited limit v_backlog) x)
    - (select count(*) from (select 1 from lanes n join runs r on r.lane_id = n.lane_id
                              where n.limited_id = p_limited and r.available_at <= p_now
                                and coalesce((r.waiting_for::text[])[1], '') not like 'queue:%#05' limit v_backlog) x));
end $$;

-- p_awaited: something waits for them, so what falls into a full bucket for a moment is not lost (tokensIn).
create function tokens_in(p_tokens double precision, p_at bigint, p_rate jsonb, p_now bigint, p_awaited boolean default false)
returns double precision language sql immutable as $$
  select case when p_rate is null then null when p_tokens is null then (p_rate ->> 'burst')::double precision
         else (select case when t.n < b.n + 1 then t.n else b.n + (t.n - floor(t.n)) end
                 from (select (p_rate ->> 'burst')::double precision + case when p_awaited
                                then greatest(0, floor(50 * (p_rate ->> 'limit')::double precision / (p_rate ->> 'perMs')::double precision) - 1)
                                else 0 end) as b(n),
                      (select p_tokens + (greatest(0, p_now - p_at) * (p_rate ->> 'limit')::double precision) / (p_rate ->> 'perMs')::double precision) as t(n)) end $$;

create function token_at(p_tokens double precision, p_rate jsonb, p_now bigint, p_wanted double precision) returns bigint language sql immutable as $$
  select p_now + greatest(0, ceil(((p_wanted - p_tokens) * (p_rate ->> 'perMs')::double precision) / (p_rate ->> 'limit')::double precision))::bigint $$;

-- When a claim asks again that has left something to be sorted in (sortAgainAt). The places that were given back are counted.
create function sort_again_at(p_limited int, p_now bigint) returns bigint language sql stable as $$
  select case when q.running >= (q.limits ->> 'concurrency')::bigint then p_now + 20
              when t.tokens < 1 then least(p_now + 20, token_at(t.tokens, q.limits -> 'rate', p_now, 1)) else p_now end
    from limited q cross join lateral (select tokens_in(q.tokens, q.tokens_at, q.limits -> 'rate', p_now, q.awaited)) as t(tokens)
   where q.limited_id = p_limited $$;

-- How many of the oldest, and how many of the newest, a claim sorts in (sortedAtEachEnd). The places that were given back are counted.
create function sorted_at_each_end(q limited, p_now bigint) returns int language sql stable as $$
  select greatest(10, least(25, (q.limits ->> 'concurrency')::bigint - q.running,
    floor(tokens_in(q.tokens, q.tokens_at, q.limits -> 'rate', p_now, q.awaited))::bigint))::int $$;

-- Gives up to p_limit places to the heads of the lines, but no more than 16 (ADMITTED_MAX), as far as they are in these lanes. The rows of runs or tasks that got one are
-- locked, and returned in order.
create function admit_places(
  p_limited int, p_kind text, p_lanes int[], p_priorities int[], p_limit int, p_now bigint,
  out o_run uuid[], out o_seq int[], out o_rows tid[], out o_next bigint)
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  q limited; k record; v_rate jsonb; v_max bigint; v_key_rate jsonb; v_key_max bigint; v_weights jsonb; v_aging bigint;
  v_tokens double precision; v_room bigint; v_passed text[] := '{}'; v_keys text[]; v_shares int[]; v_i int; v_weight double precision;
  v_own_rate jsonb; v_own_max bigint; v_own_tokens double precision; v_got uuid[]; v_got_seq int[]; v_got_rows tid[]; v_n int;
  v_cand uuid[]; v_cand_seq int[]; v_empty boolean; v_ready boolean; v_wake bigint; v_key_of text[] := '{}'; v_running bigint; v_virtual double precision;
  v_turns boolean := false; v_awaited boolean;
begin
  o_run := '{}'; o_seq := '{}'; o_rows := '{}';
  select * into q from limited x where x.limited_id = p_limited;
  v_rate := q.limits -> 'rate'; v_max := (q.limits ->> 'concurrency')::bigint; v_weights := q.limits -> 'weights';
  v_key_rate := q.limits -> 'perKey' -> 'rate'; v_key_max := (q.limits -> 'perKey' ->> 'concurrency')::bigint;
  v_aging := (q.limits ->> 'agingMs')::bigint;
  v_tokens := tokens_in(q.tokens, q.tokens_at, v_rate, p_now, q.awaited);
  select array_agg(x.key) into v_keys from limited_keys x where x.limited_id = p_limited and x.wake_at <= p_now;
  if v_keys is not null then perform keys_ready(p_limited, v_keys, null, q.virtual_time); end if;
  for v_round in 1..1000 loop
    v_room := least(least(p_limit, 16) - cardinality(o_run), v_max - q.running, floor(v_tokens)::bigint);
    exit when v_room < 1;
    -- One place after the other, each to the key with the lowest virtual time, as far as it has free places of its own.
    with ready as materialized (
      select x.key, x.virtual_time, coalesce((v_weights ->> x.key)::double precision, 1) as weight,
             row_number() over (order by x.virtual_time, x.key) as i,
             case when x.key = '' then v_room
                  else least(v_room, v_key_max - x.running, floor(tokens_in(x.tokens, x.tokens_at, v_key_rate, p_now, x.awaited))::bigint) end as free
        from (select * from limited_keys y where y.limited_id = p_limited and y.ready and y.key <> all (v_passed)
               order by y.virtual_time, y.key limit least(v_room, 100)) x
    ), turns as (
      select r.i from ready r cross join lateral generate_series(0, r.free - 1) t(turn)
       order by r.virtual_time + t.turn::double precision / r.weight, r.i limit v_room
    )
    -- Those without a share have others before them, or no place of their own: a share of 0 says that. Such a key may hide others behind it:
    -- it is passed over before anything is given.
    select array_agg(r.key order by r.i), array_agg(r.share order by r.i) into v_keys, v_shares
      from (select r.key, r.i, case when r.free < 1 then 0 when n.n > 0 then n.n end::int as share, bool_or(r.free < 1) over () as hides
              from ready r left join lateral (select count(*) as n from turns t where t.i = r.i) n on true) r
     where case when r.hides then r.share = 0 else r.share is not null end;
    exit when v_keys is null;
    v_turns := true;
    for v_i in 1..cardinality(v_keys) loop
      select x.* into k from limited_keys x where x.limited_id = p_limited and x.key = v_keys[v_i];
      v_weight := coalesce((v_weights ->> k.key)::double precision, 1);
      v_own_rate := case when k.key <> '' then v_key_rate end;
      v_own_max := case when k.key <> '' then v_key_max end;
      v_n := 0;
      if v_shares[v_i] > 0 then
        select array_agg(h.run_id order by h.rank desc, h.at, h.run_no, h.seq), array_agg(h.seq order by h.rank desc, h.at, h.run_no, h.seq)
          into v_cand, v_cand_seq
          from (select l.*, n.priority + coalesce(greatest(0, p_now - l.at) / v_aging, 0) as rank
                  from unnest(p_lanes, p_priorities) as n(lane_id, priority)
                 cross join lateral (select x.at, x.run_no, x.run_id, x.seq from lines x
                                      where x.limited_id = p_limited and x.key = k.key and x.lane_id = n.lane_id
                                      order by x.at, x.run_no, x.seq::bigint limit v_shares[v_i]) l) h;
        if p_kind = 'runs' then
          select array_agg(d.run_id), array_agg(0), array_agg(d.place) into v_got, v_got_seq, v_got_rows
            from (select x.* from unnest(v_cand) as c(run_id) cross join lateral (
                    select r.run_id, r.ctid as place from runs r
                     where r.run_id = c.run_id and r.held_by is null and r.ended_at is null and r.status <> 'parked'
                       and r.waiting_for is not null and (r.available_at is null or r.available_at > p_now)
                     limit 1 for no key update skip locked) x limit v_shares[v_i]) d;
        else
          select array_agg(d.run_id), array_agg(d.seq), array_agg(d.place) into v_got, v_got_seq, v_got_rows
            from (select x.* from unnest(v_cand, v_cand_seq) as c(run_id, seq) cross join lateral (
                    select t.run_id, t.seq, t.ctid as place from tasks t
                     where t.run_id = c.run_id and t.seq = c.seq and t.status = 'due' and t.standing = 1 and t.available_at is null
                     limit 1 for no key update skip locked) x limit v_shares[v_i]) d;
        end if;
        v_n := coalesce(cardinality(v_got), 0);
      end if;
      if v_n = 0 then v_passed := v_passed || k.key;
      else
        perform leave_lines(v_got, v_got_seq);
        o_run := o_run || v_got; o_seq := o_seq || v_got_seq; o_rows := o_rows || v_got_rows;
        v_key_of := v_key_of || array_fill(k.key, array[v_n]);
      end if;
      q.running := q.running + v_n; v_tokens := v_tokens - v_n; q.virtual_time := greatest(q.virtual_time, k.virtual_time);
      v_own_tokens := tokens_in(k.tokens, k.tokens_at, v_own_rate, p_now, k.awaited) - v_n;
      v_running := k.running + v_n; v_virtual := k.virtual_time + greatest(1, v_n) / v_weight;
      -- Whether it is ready again, and if not, when it will be. A bucket that is not full is remembered until it is.
      v_empty := (select 1 from lines l where l.limited_id = p_limited and l.key = k.key limit 1) is null;
      v_ready := false; v_wake := null;
      if not v_empty then
        if v_own_max is null or v_running < v_own_max then
          v_ready := coalesce(floor(v_own_tokens) >= 1, true);
          if not v_ready then v_wake := token_at(v_own_tokens, v_own_rate, p_now, 1); end if;
        end if;
      elsif v_own_rate is not null then
        v_wake := nullif(token_at(v_own_tokens, v_own_rate, p_now, (v_own_rate ->> 'burst')::double precision), p_now);
      end if;
      if v_empty and v_wake is null and v_running <= 0 then
        delete from limited_keys x where x.limited_id = p_limited and x.key = k.key;
      else
        update limited_keys x set running = v_running, virtual_time = v_virtual, ready = v_ready, wake_at = v_wake,
            tokens = v_own_tokens, tokens_at = case when v_own_rate is not null then p_now end,
            awaited = v_own_rate is not null and not v_empty
         where x.limited_id = p_limited and x.key = k.key;
      end if;
    end loop;
  end loop;
  v_awaited := coalesce(v_tokens < 1 and (v_max is null or q.running < v_max), false)
               and (select 1 from limited_keys x where x.limited_id = p_limited and x.ready limit 1) is not null;
  if v_awaited and cardinality(o_run) < p_limit then o_next := token_at(v_tokens, v_rate, p_now, 1); end if;
  -- There is more to give than a claim may.
  if cardinality(o_run) = 16 and p_limit > 16 and coalesce(least(v_max - q.running, floor(v_tokens)::bigint) >= 1, true)
     and (select 1 from limited_keys x where x.limited_id = p_limited and x.ready and x.key <> all (v_passed) limit 1) is not null then
    o_next := p_now;
  end if;
  if v_max is null or q.running < v_max then
    o_next := least(o_next, (select x.wake_at from limited_keys x where x.limited_id = p_limited and x.wake_at is not null order by x.wake_at limit 1));
  end if;
  if cardinality(o_run) > 0 then
    -- What has ended and is here again since the places were counted.
    q.running := q.running - count_places_back(p_limited, q.virtual_time, o_run, o_seq);
    insert into places (run_id, seq, limited_id, key, since)
    select g.run_id, g.seq, p_limited, g.key, p_now from unnest(o_run, o_seq, v_key_of) as g(run_id, seq, key);
  end if;
  if v_turns and (cardinality(o_run) > 0 or v_rate is not null) then
    update limited x set running = q.running, virtual_time = q.virtual_time, tokens = v_tokens,
        tokens_at = case when v_rate is not null then p_now end, awaited = v_awaited,
        -- paceAfter
        per_second = x.per_second * exp(-least(700, greatest(0, p_now - x.pace_at)::double precision / 60000)) + cardinality(o_run) / 60.0::double precision,
        pace_at = p_now
     where x.limited_id = p_limited;
  elsif q.virtual_time > (select x.virtual_time from limited x where x.limited_id = p_limited) then
    update limited x set virtual_time = q.virtual_time where x.limited_id = p_limited;
  end if;
end $$;

-- Claims in a queue with limits, for the lanes that the worker serves. What is due and needs a place goes into line: it is due
-- again only at its deadline. What has a place, was canceled or is past its deadline needs none. Then places are given. Returns the
-- locked rows, in the order in which to execute them. o_left: lanes of which it counts that something due is left. o_next: when to ask
-- again, at the latest.
create function take_limited_runs(p_limited int, p_workflows text[], p_versions text[], p_limit int, p_now bigint,
  out o_run uuid[], out o_rows tid[], out o_lanes int[], out o_left int[], out o_next bigint)
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  q limited; l record; v_ends int; v_left boolean := false; v_again bigint; v_priorities int[] := '{}'; v_rows tid[]; f_run uuid[] := '{}'; f_rows tid[] := '{}'; f_at bigint[] := '{}'; f_priority int[] := '{}';
  w_run uuid[] := '{}'; w_rows tid[] := '{}'; w_at bigint[] := '{}'; w_lane int[] := '{}'; w_no bigint[] := '{}'; v_key text[]; a record;
begin
  o_run := '{}'; o_rows := '{}'; o_lanes := '{}'; o_left := '{}';
  if not pg_try_advisory_xact_lock(limited_lock(p_limited)) then
    o_next := p_now + 5;
    return;
  end if;
  select * into q from limited x where x.limited_id = p_limited;
  if not found then return; end if;
  q.running := q.running - count_places_back(p_limited, q.virtual_time);
  v_ends := sorted_at_each_end(q, p_now);
  for l in
    select n.lane_id, n.priority from lanes n
     where n.namespace = q.namespace and n.queue = q.queue
       and exists (select 1 from unnest(p_workflows, p_versions) as h(workflow, version) where h.workflow = n.workflow and h.version = n.version)
     order by n.priority desc, n.lane_id
  loop
    o_lanes := o_lanes || l.lane_id;
    v_priorities := v_priorities || l.priority;
    -- First the locks: a message that came meanwhile is seen only by a new snapshot. The oldest and the newest: SORTED_MAX.
    v_rows := array(select r.ctid from runs r where r.lane_id = l.lane_id and not r.suspect and r.available_at <= p_now
                     order by r.available_at limit v_ends for no key update skip locked);
    if cardinality(v_rows) = v_ends then
      v_rows := v_rows || array(
        select r.ctid from runs r where r.lane_id = l.lane_id and not r.suspect and r.available_at <= p_now and r.ctid <> all (v_rows)
         order by r.available_at desc limit v_ends for no key update skip locked);
      v_left := v_left or cardinality(v_rows) = 2 * v_ends;
    end if;
    continue when cardinality(v_rows) = 0;
    for a in
      select x.free, array_agg(x.run_id order by x.available_at, x.run_id) as runs, array_agg(x.place order by x.available_at, x.run_id) as rows,
             array_agg(x.available_at order by x.available_at, x.run_id) as times, array_agg(x.run_no order by x.available_at, x.run_id) as numbers,
             min(x.deadline_at) as deadline
        from (select r.run_id, r.run_no, r.ctid as place, r.available_at, r.deadline_at,
                     coalesce(r.deadline_at <= p_now, false)
                     or (select 1 from places p where p.run_id = r.run_id and p.seq = 0 and ${TAKEN} limit 1) is not null
                     or (select 1 from inbox m where m.run_id = case when r.delivered > r.consumed then r.run_id end
                            and m.number > r.consumed and m.kind = 'cancel' limit 1) is not null as free
                from runs r where r.ctid = any (v_rows)) x group by x.free
    loop
      if a.free then
        f_run := f_run || a.runs; f_rows := f_rows || a.rows; f_at := f_at || a.times;
        f_priority := f_priority || array_fill(l.priority, array[cardinality(a.runs)]);
      else
        w_run := w_run || a.runs; w_rows := w_rows || a.rows; w_at := w_at || a.times; w_no := w_no || a.numbers;
        w_lane := w_lane || array_fill(l.lane_id, array[cardinality(a.runs)]);
        o_next := least(o_next, a.deadline);
      end if;
    end loop;
  end loop;
  if cardinality(w_run) > 0 then
    v_key := array(select coalesce((select s.key from run_starts s where s.run_id = w.run_id), '') from unnest(w_run) with ordinality as w(run_id, i)
                    order by w.i);
    -- awaited: its end concerns others.
    update runs r set available_at = r.deadline_at, awaited = true, involved = true, waiting_for = array['queue:' || q.queue || '#05']::text
     where r.ctid = any (w_rows);
    with entered as (
      insert into lines (limited_id, key, lane_id, at, run_no, run_id, seq)
      select p_limited, w.key, w.lane_id, w.at, w.run_no, w.run_id, 0
        from unnest(w_run, w_lane, w_at, w_no, v_key) as w(run_id, lane_id, at, run_no, key)
      on conflict (run_id, seq) do nothing
    )
    select array_agg(distinct w.key) into v_key from unnest(v_key) as w(key);
    perform keys_ready(p_limited, v_key, null, q.virtual_time);
  end if;
  select coalesce(array_agg(f.run_id), '{}'), coalesce(array_agg(f.place), '{}') into o_run, o_rows
    from (select * from unnest(f_run, f_rows, f_at, f_priority) as x(run_id, place, at, priority)
           order by x.priority desc, x.at, x.run_id limit p_limit) f;
  if cardinality(o_run) > 0 then perform leave_lines(o_run, array_fill(0, array[cardinality(o_run)])); end if;
  update limited x set running = q.running where x.limited_id = p_limited and x.running <> q.running;
  select * into a from admit_places(p_limited, 'runs', o_lanes, v_priorities, p_limit - cardinality(o_run), p_now);
  o_run := o_run || a.o_run; o_rows := o_rows || a.o_rows; o_next := least(o_next, a.o_next);
  v_again := case when v_left then sort_again_at(p_limited, p_now) end;
  o_next := least(o_next, v_again);
  if v_again is null or v_again <= p_now then o_left := o_lanes; end if;
end $$;

-- The same for tasks: all of them need a place.
create function take_limited_tasks(p_limited int, p_names text[], p_labels text[], p_limit int, p_now bigint,
  out o_rows tid[], out o_lanes int[], out o_left int[], out o_next bigint)
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare q limited; l record; v_ends int; v_left boolean := false; v_again bigint; v_priorities int[] := '{}'; v_rows tid[]; v_key text[]; a record;
begin
  o_rows := '{}'; o_lanes := '{}'; o_left := '{}';
  if not pg_try_advisory_xact_lock(limited_lock(p_limited)) then
    o_next := p_now + 5;
    return;
  end if;
  select * into q from limited x where x.limited_id = p_limited;
  if not found then return; end if;
  q.running := q.running - count_places_back(p_limited, q.virtual_time);
  v_ends := sorted_at_each_end(q, p_now);
  for l in
    select n.lane_id, n.priority from task_lanes n
     where n.namespace = q.namespace and n.queue = q.queue and n.name = any (p_names) and n.requires <@ p_labels
     order by n.priority desc, n.lane_id
  loop
    o_lanes := o_lanes || l.lane_id;
    v_priorities := v_priorities || l.priority;
    v_rows := array(select t.ctid from tasks t where t.lane_id = l.lane_id and not t.suspect and t.available_at <= p_now
                     order by t.available_at limit v_ends for no key update skip locked);
    if cardinality(v_rows) = v_ends then
      v_rows := v_rows || array(
        select t.ctid from tasks t where t.lane_id = l.lane_id and not t.suspect and t.available_at <= p_now and t.ctid <> all (v_rows)
         order by t.available_at desc limit v_ends for no key update skip locked);
      v_left := v_left or cardinality(v_rows) = 2 * v_ends;
    end if;
    continue when cardinality(v_rows) = 0;
    with entered as (
      insert into lines (limited_id, key, lane_id, at, run_no, run_id, seq)
      select p_limited, coalesce(t.key, (select s.key from run_starts s where s.run_id = t.run_id), ''), t.lane_id, t.available_at,
             (select r.run_no from runs r where r.run_id = t.run_id), t.run_id, t.seq
        from tasks t where t.ctid = any (v_rows)
      on conflict (run_id, seq) do nothing
    )
    select array_agg(distinct coalesce(t.key, (select s.key from run_starts s where s.run_id = t.run_id), '')) into v_key
      from tasks t where t.ctid = any (v_rows);
    update tasks t set available_at = null, standing = 1 where t.ctid = any (v_rows);
    perform keys_ready(p_limited, v_key, null, q.virtual_time);
  end loop;
  update limited x set running = q.running where x.limited_id = p_limited and x.running <> q.running;
  select * into a from admit_places(p_limited, 'tasks', o_lanes, v_priorities, p_limit, p_now);
  o_rows := a.o_rows; o_next := least(o_next, a.o_next);
  v_again := case when v_left then sort_again_at(p_limited, p_now) end;
  o_next := least(o_next, v_again);
  if v_again is null or v_again <= p_now then o_left := o_lanes; end if;
end $$;
`;
