/** What is in run_starts about new runs, whose positions, times and numbers are in v_new, v_created and v_nth. */
const ADD_STARTS = `insert into run_starts (run_id, lane_id, nth, namespace, id, created_at, timeout_ms, seed, input,
                                parent_namespace, parent_run_id, parent_id, parent_op, root_run_id, root_id, depth, key)
        select p_run[f.i], v_lane[f.i], f.nth, p_namespace[f.i], p_id[f.i], f.created_at, p_timeout[f.i],
               nullif(p_seed[f.i], p_run[f.i]::text), p_input[f.i], p_parent_namespace[f.i], p_parent[f.i], p_parent_id[f.i],
               p_parent_op[f.i], p_root[f.i], p_root_id[f.i], p_depth[f.i], p_key[f.i]
          from unnest(v_new, v_created, v_nth) as f(i, created_at, nth)`;

export const START = String.raw`
-- Creates runs, or finds those that have their ids. Runs created in this call are returned together in the row with i = 0, with
-- only what is new about them (lists: positions, times, whether they are held); each of the others has its own row, and so has
-- each that comes with messages.
create function start_runs(
  p_run uuid[], p_namespace text[], p_id text[], p_workflow text[], p_version text[], p_queue text[], p_priority int[],
  p_seed text[], p_input bytea[], p_attributes text[], p_start_at bigint[], p_delay bigint[], p_timeout bigint[],
  p_key text[],
  p_if_running text[], p_if_closed text[], p_hold boolean[], p_pick double precision[],
  p_hold_by uuid, p_claim uuid, p_replace_error bytea,
  -- Where they come from; empty arrays if no run starts any of them.
  p_parent_namespace text[], p_parent uuid[], p_parent_id text[], p_parent_op text[], p_root uuid[], p_root_id text[],
  p_depth smallint[], p_policy text[],
  -- Messages that come with them, by position; null if there are none.
  m_i int[], m_kind text[], m_name text[], m_message text[], m_payload bytea[], p_inbox_max int,
  p_races boolean,       -- other calls may be taking the same ids; otherwise that is an error (23505)
  p_notify boolean,
  p_bounded boolean default false)  -- the backlogs of queues count
returns table (i int, outcome text, run json, now bigint, hints text, made text, created_at text, available_at text, held text,
  version text[],        -- null: as asked for
  messages json,         -- the outcomes of the messages, by position of the start
  owes json)             -- runs that were replaced and owe something, by position
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_open int[] := array(select generate_subscripts(p_run, 1));
  v_version text[] := p_version; v_lane int[]; v_limited int[]; v_live boolean := false; v_home text; v_now bigint; v_lines text[] := '{}';
  v_out text[]; v_found uuid[]; v_locked uuid[]; v_gates uuid[]; v_new int[]; v_made int[];
  v_nth int[]; v_last bigint[];  -- of the newest runs of their ids; then of the new ones
  v_before uuid[];       -- closed runs that are locked, so that they stay so: a new one follows each
  v_follows uuid[];
  r_i int[] := '{}'; r_outcome text[] := '{}'; r_run uuid[] := '{}';          -- answers: existing rows
  f_i int[] := '{}'; f_created bigint[] := '{}'; f_available bigint[] := '{}'; f_held boolean[] := '{}';  -- and new ones
  v_created bigint[]; v_available bigint[]; v_held boolean[]; v_taken uuid[];
  v_refused text[];      -- per start: why its parent may not start it; null: it may, or there is none
  v_purges bigint;       -- how many purges there were before the ids were looked up
  v_known int[];         -- starts that are repetitions: their first message is known
  v_receivers uuid[];    -- open runs that may get messages: locked, so that they stay open
  v_awaited uuid[]; v_parents uuid[]; v_replaced_i int[] := '{}'; v_replaced uuid[] := '{}';
begin
  if p_hold_by is not null then
    select w.status <> 'offline', w.namespace into v_live, v_home from workers w where w.worker_id = p_hold_by for key share;
  end if;
  if exists (select 1 from (select distinct k.namespace, k.workflow from unnest(p_namespace, p_workflow, p_pick)
                              as k(namespace, workflow, pick) where k.pick is not null) w
               join versions v using (namespace, workflow) where v.share > 0 or v.is_default) then
    v_version := array(
      select coalesce((select v.version from versions v where v.namespace = p_namespace[k.i]
                          and v.workflow = p_workflow[k.i] and v.share > p_pick[k.i] limit 1),
                      (select v.version from versions v where p_pick[k.i] is not null and v.namespace = p_namespace[k.i]
                          and v.workflow = p_workflow[k.i] and v.is_default limit 1), p_version[k.i])
        from unnest(v_open) k(i) order by k.i);
  end if;
  select l.o_lanes, l.o_limited, q.last_value + q.is_called::int into v_lane, v_limited, v_purges
    from lanes_of(p_namespace, p_queue, p_workflow, v_version, p_priority) l, purges q;

  for v_round in 1..5 loop
    v_now := now_ms();
    -- 1. "replace": lock the old runs before judging them. If another transaction has locked a row, that start is busy.
    v_locked := '{}';
    v_before := '{}';
    if 'replace' = any (p_if_running) then
      v_found := array(select last.run_id from unnest(v_open) k(i)
         cross join lateral (select s.run_id from run_starts s where s.namespace = p_namespace[k.i] and s.id = p_id[k.i]
                              order by s.nth desc limit 1) last where p_if_running[k.i] = 'replace');
      v_gates := array(select r.held_by from runs r where r.run_id = any (v_found) and r.held_by is not null);
      if cardinality(v_gates) > 0 and not close_gates(v_gates) then v_gates := '{}'; end if;
      v_locked := unless_starting(array(select r.run_id from runs r
         where r.run_id = any (v_found) and r.ended_at is null and (r.held_by is null or r.held_by = any (v_gates))
           for no key update of r skip locked));
    end if;
    if cardinality(p_depth) > 0 then v_refused := refuse_children(v_open, p_run, p_namespace, p_parent_namespace, p_parent, p_depth); end if;
    if m_i is not null then
      select s.o_known, s.o_locked into v_known, v_receivers from starts_with_messages(v_open, p_namespace, p_id, m_i, m_message) s;
    end if;
    -- 2. Judge: own run id first (a repeat), then the newest run of the id, which may be open. An id that no run has ever had needs
    --    one lookup: the other lookups get a null, which matches nothing without a search. What follows a closed run is judged
    --    again when that is locked: it may have been reopened or deleted.
    loop
      select array_agg(j.outcome), array_agg(j.run_id), array_agg(j.nth), array_agg(j.created_at) into v_out, v_found, v_nth, v_last
        from (
          select case when own.namespace <> p_namespace[k.i] then 'foreign'
                 when own.run_id is not null then 'created'
                 when v_refused[k.i] is not null then v_refused[k.i]
                 when op.run_id is null and last.run_id is null then 'create'
                 when k.i = any (v_known) then 'returned'
                 when op.run_id is null then case when p_if_closed[k.i] = 'return' then 'returned'
                                                  when p_if_closed[k.i] = 'fail' or (select x.status from runs x where x.run_id = last.run_id) = 'moved'
                                                  then 'exists'
                                                  when last.run_id = any (v_before) then 'create' else 'follow' end
                 when p_if_running[k.i] = 'return' then case when k.i = any (m_i) and op.run_id <> all (v_receivers) then 'busy'
                                                             else 'returned' end
                 when p_if_running[k.i] = 'fail' then 'exists'
                 when op.run_id = any (v_locked) then 'replace' else 'busy' end as outcome,
                 coalesce(own.run_id, last.run_id) as run_id, last.nth, last.created_at
        from unnest(v_open) with ordinality as k(i, n)
        left join lateral (select s.run_id, s.nth, s.created_at from run_starts s
                            where s.namespace = p_namespace[k.i] and s.id = p_id[k.i]
                            order by s.nth desc limit 1) last on true
        left join lateral (select r.run_id, (select s.namespace from run_starts s where s.run_id = r.run_id) as namespace from runs r
                            where r.run_id = case when p_races or last.run_id is not null then p_run[k.i] end limit 1) own on true
        left join lateral (select r.run_id from runs r where r.run_id = last.run_id and r.ended_at is null limit 1) op on true
         order by k.n) j;
      v_follows := array(select k.run_id from unnest(v_out, v_found) as k(outcome, run_id) where k.outcome = 'follow');
      exit when cardinality(v_follows) = 0 or cardinality(v_before) > 0;
      -- Never empty from now on: what is locked by others now, or has come since, is busy.
      v_before := array(select r.run_id from runs r where r.run_id = any (v_follows) and r.ended_at is not null for share skip locked)
                  || '00000000-0000-0000-0000-000000000000'::uuid;
    end loop;
    v_out := array_replace(v_out, 'follow', 'busy');
    if p_bounded and array_remove(v_limited, null) <> '{}' then
      select array_agg(case when j.outcome = 'create' and j.rank > j.room then 'queue_full' else j.outcome end order by j.n) into v_out
        from (select k.n, k.outcome, q.room,
                     -- Those that begin later do not wait yet.
                     1 + count(*) filter (where k.outcome = 'create' and coalesce(p_start_at[k.i], 0) <= v_now and coalesce(p_delay[k.i], 0) <= 0)
                       over (partition by v_limited[k.i] order by k.n rows between unbounded preceding and 1 preceding) as rank
                from unnest(v_open, v_out) with ordinality as k(i, outcome, n)
                left join (select x.id, backlog_room(x.id, v_now) as room from (select distinct l.id from unnest(v_limited) l(id)) x) q
                       on q.id = v_limited[k.i]) j;
    end if;
    if 'foreign' = any (v_out) then
      raise exception 'the run id % is taken', p_run[v_open[array_position(v_out, 'foreign')]] using errcode = '23000';
    end if;
    -- 3. End what is replaced.
    if 'replace' = any (v_out) then
      with old as materialized (
        select r.run_id, r.held_by, r.awaited, r.has_children, k.i from unnest(v_open, v_out, v_found) as k(i, outcome, run_id)
          join runs r using (run_id) where k.outcome = 'replace'
      ), ended as (
        update runs r set status = 'terminated', epoch = r.epoch + 1, held_by = null, claim_id = null, alone = false,
            event_count = case when r.held_by is null then r.event_count else last_seq(r.run_no, r.event_count) end,
            available_at = null, waiting_for = null, ended_at = end_time(r, v_now), error = p_replace_error
          from old where r.run_id = old.run_id
      )
      select v_lines || hint_lines('e', array_agg(p_namespace[old.i]), array_agg(old.run_id))
             || hint_lines('t', array_agg(old.held_by::text), array_agg(old.run_id)),
             array_agg(old.run_id) filter (where old.awaited),
             array_agg(old.run_id) filter (where old.has_children),
             v_replaced_i || array_agg(old.i), v_replaced || array_agg(old.run_id)
        into v_lines, v_awaited, v_parents, v_replaced_i, v_replaced from old;
      if v_awaited is not null or v_parents is not null then v_lines := v_lines || owe_ends(v_awaited, v_parents, v_now); end if;
      v_lines := v_lines || drop_tasks(array(select k.run_id from unnest(v_out, v_found) as k(outcome, run_id)
                                              where k.outcome = 'replace'));
    end if;
    -- 4. The rows, in the order of the ids, so that calls for the same ones do not wait for each other in a circle. A start that loses
    --    the race for its id goes through the loop again.
    select coalesce(array_agg(x.i), '{}'), array_agg(x.created_at), array_agg(x.nth) into v_new, v_created, v_nth
      from (select k.i, greatest(v_now, k.last + 1) as created_at, coalesce(k.nth + 1, 0) as nth
              from unnest(v_open, v_out, v_nth, v_last) as k(i, outcome, nth, last)
             where k.outcome in ('create', 'replace') order by p_namespace[k.i], p_id[k.i]) x;
    if p_races and cardinality(v_new) > 0 then
      with taken as (
        ${ADD_STARTS}
        on conflict (namespace, id, nth) do nothing returning run_id)
      select array_agg(t.run_id) into v_taken from taken t;
      select coalesce(array_agg(f.i), '{}'), array_agg(f.created_at) into v_new, v_created
        from unnest(v_new, v_created) as f(i, created_at) where p_run[f.i] = any (v_taken);
    elsif cardinality(v_new) > 0 then
      -- A plain insert, without "on conflict", saves 48 bytes of WAL each.
        ${ADD_STARTS};
    end if;
    if cardinality(v_new) > 0 then
      with fresh as materialized (
        select k.i, k.created_at, due.at as available_at,
               coalesce(p_hold[k.i] and v_live and p_namespace[k.i] = v_home and due.at <= v_now
                        -- In a queue with limits it is held when it gets a place.
                        and v_limited[k.i] is null, false) as hold
          from unnest(v_new, v_created) k(i, created_at)
         cross join lateral (select least(greatest(coalesce(p_start_at[k.i], v_now), v_now + coalesce(p_delay[k.i], 0)),
                                          k.created_at + p_timeout[k.i]) as at) due
      ), made as (
        insert into runs (run_id, lane_id, created_at, deadline_at, status, epoch, held_by, claim_id, available_at,
                          started_at, awaited)
        select p_run[f.i], v_lane[f.i], f.created_at, f.created_at + p_timeout[f.i],
               case when f.hold then 'running'::run_status else 'pending'::run_status end, f.hold::int,
               case when f.hold then p_hold_by end, case when f.hold then p_claim end,
               case when not f.hold then f.available_at end, case when f.hold then greatest(v_now, f.created_at) end,
               case when p_parent_op[f.i] is not null then true end
          -- run_no follows the order of the call.
          from fresh f order by f.i
      )
      select array_agg(f.i order by f.i), array_agg(f.created_at order by f.i), array_agg(f.available_at order by f.i),
             array_agg(f.hold order by f.i) into v_made, v_created, v_available, v_held
        from fresh f;
      if cardinality(p_depth) > 0 then
        insert into children (parent_run_id, run_id, created_at, namespace, id, policy, closed)
        select p_parent[f.i], p_run[f.i], f.created_at, p_namespace[f.i], p_id[f.i], p_policy[f.i], p_policy[f.i] = 'abandon'
          from unnest(v_made, v_created) as f(i, created_at) where p_depth[f.i] is not null;
      end if;
      insert into run_attributes (run_id, attributes)
      select p_run[f.i], p_attributes[f.i]::jsonb from unnest(v_made) as f(i) where p_attributes[f.i] is not null;
      f_i := f_i || v_made; f_created := f_created || v_created; f_available := f_available || v_available;
      f_held := f_held || v_held;
    end if;
    select r_i || coalesce(array_agg(k.i), '{}'), r_outcome || coalesce(array_agg(k.outcome), '{}'),
           r_run || coalesce(array_agg(k.run_id), '{}') into r_i, r_outcome, r_run
      from unnest(v_open, v_out, v_found) as k(i, outcome, run_id) where k.outcome not in ('create', 'replace');
    exit when cardinality(r_i) + cardinality(f_i) = cardinality(p_run);
    v_open := array(select k.i from unnest(v_open) k(i) where k.i <> all (r_i) and k.i <> all (f_i));
  end loop;

  -- A run of a new id may have been created, followed and purged since that id was looked up: the number that it had is free again, but it
  -- is not the highest.
  if v_purges <> (select q.last_value + q.is_called::int from purges q) and
     (select 1 from unnest(f_i) as f(i) join run_starts s on s.run_id = p_run[f.i]
        join run_starts x on x.namespace = s.namespace and x.id = s.id and x.nth > s.nth limit 1) is not null then
    raise exception 'other runs have got the same ids' using errcode = '23505', constraint = 'run_starts_id';
  end if;
  -- Also for runs that start later, with the earliest time per queue: workers could not know about them otherwise.
  if false = any (f_held) then
    v_lines := v_lines || array(
      select E'd\t' || p_namespace[f.i] || E'\t' || p_queue[f.i]
             || case when min(f.available_at) > v_now then E'\t' || min(f.available_at) else '' end
        from unnest(f_i, f_available, f_held) as f(i, available_at, held) where not f.held
       group by p_namespace[f.i], p_queue[f.i]);
  end if;
  if m_i is not null then
    select d.o_messages, v_lines || d.o_lines, r_outcome[1:0] || d.o_outcome, r_run[1:0] || d.o_run, d.o_i, d.o_fresh
      into messages, v_lines, r_outcome, r_run, r_i, v_new
      from deliver_with_starts(p_run, p_namespace, r_i, r_outcome, r_run, f_i, m_i, m_kind, m_name, m_message, m_payload, p_inbox_max) d;
    select array_agg(f.i), array_agg(f.at), array_agg(f.due), array_agg(f.held) into f_i, f_created, f_available, f_held
      from unnest(f_i, f_created, f_available, f_held) as f(i, at, due, held) where f.i = any (v_new);
  end if;
  if cardinality(v_replaced) > 0 then
    select json_object_agg(k.i, k.run_id) into owes from unnest(v_replaced_i, v_replaced) as k(i, run_id)
      join runs x on x.run_id = k.run_id where x.owes;
  end if;
  return query
    select r.i, r.outcome, row_to_json(v), null::bigint, null::text, null::text, null::text, null::text, null::text, null::text[],
           null::json, null::json
      from unnest(r_i, r_outcome, r_run) as r(i, outcome, run_id)
      left join lean_rows v on v.run_id = r.run_id and r.outcome not in ('parent_closed', 'parent_busy', 'not_allowed', 'queue_full');
  i := 0; now := v_now; hints := send_hints(v_lines, p_notify); made := array_to_string(f_i, ',');
  created_at := array_to_string(f_created, ','); available_at := array_to_string(f_available, ',');
  held := array_to_string(f_held, ''); version := nullif(v_version, p_version);
  return next;
end $$;
`;
