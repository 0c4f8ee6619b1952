export const OPERATIONS = String.raw`
-- Ends runs from outside, no matter which worker holds them: with an error each, or one for all.
create function terminate_runs(p_run uuid[], p_namespace text[], p_id text[], p_errors bytea[], p_notify boolean)
returns table (i int, outcome text, run_id uuid, status run_status, hints text, owes boolean)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare v_now bigint; v_target uuid[]; v_gates uuid[]; v_locked uuid[]; v_ended uuid[]; v_lines text[]; v_awaited uuid[]; v_parents uuid[];
begin
  select array_agg(run_of(p_run[k.i], p_namespace[k.i], p_id[k.i]) order by k.i) into v_target
    from generate_subscripts(p_run, 1) k(i);
  v_gates := array(select r.held_by from runs r where r.run_id = any (v_target) and r.held_by is not null);
  if cardinality(v_gates) > 0 and not close_gates(v_gates) then v_gates := '{}'; end if;
  v_locked := array(select r.run_id from runs r where r.run_id = any (v_target)
                       and (r.held_by is null or r.held_by = any (v_gates)) for no key update skip locked);
  v_ended := unless_starting(v_locked);
  v_now := now_ms();
  with old as materialized (
    select r.run_id, r.held_by, r.awaited, r.has_children, s.namespace from runs r join run_starts s using (run_id)
     where r.run_id = any (v_ended) and r.ended_at is null
  ), ended as (
    update runs r set status = 'terminated', epoch = r.epoch + 1, held_by = null, claim_id = null, alone = false,
        event_count = case when r.held_by is null then r.event_count else last_seq(r.run_no, r.event_count) end,
        available_at = null, waiting_for = null, ended_at = end_time(r, v_now),
        error = coalesce(p_errors[array_position(v_target, old.run_id)], p_errors[1])
      from old where r.run_id = old.run_id
  )
  select array_agg(old.run_id), hint_lines('e', array_agg(old.namespace), array_agg(old.run_id))
         || hint_lines('t', array_agg(old.held_by::text), array_agg(old.run_id)), array_agg(old.run_id) filter (where old.awaited),
         array_agg(old.run_id) filter (where old.has_children)
    into v_ended, v_lines, v_awaited, v_parents from old;
  if v_awaited is not null or v_parents is not null then v_lines := v_lines || owe_ends(v_awaited, v_parents, v_now); end if;
  v_lines := v_lines || drop_tasks(v_ended);
  return query
    select k.i::int, case when r.run_id is null then 'not_found' when r.run_id = any (v_ended) then 'terminated'
                          when r.run_id = any (v_locked) and r.ended_at is not null then 'closed' else 'busy' end,
           r.run_id, r.status, null::text, r.owes
      from unnest(v_target) with ordinality as k(run_id, i) left join runs r on r.run_id = k.run_id
    union all
    select 0, 'hints', null::uuid, null::run_status, send_hints(v_lines, p_notify), null::boolean;
end $$;

-- Reopens a failed run, if it is the newest of its id. A start that saw it closed has its row locked.
create function reopen_run(
  p_run uuid, p_namespace text, p_id text, p_event_count int, p_type smallint, p_op text, p_payload bytea, p_meta bytea,
  p_notify boolean, out o_outcome text, out o_status run_status, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare v_run uuid := run_of(p_run, p_namespace, p_id); v_now bigint; r record;
begin
  select x.run_no, x.status, x.ended_at, x.event_count, coalesce(x.started_at, x.created_at) as begun, s.namespace, s.id,
         s.created_at, s.timeout_ms, x.tail_at into r
    from runs x join run_starts s using (run_id) where x.run_id = v_run for no key update of x skip locked;
  if not found then
    select x.status into o_status from runs x where x.run_id = v_run;
    o_outcome := case when found then 'busy' else 'not_found' end;
    return;
  end if;
  o_status := r.status;
  if r.ended_at is null and r.event_count > p_event_count then o_outcome := 'reopened'; return; end if;
  if r.status <> 'failed' or r.event_count <> p_event_count then o_outcome := 'not_failed'; return; end if;
  if run_of(null, r.namespace, r.id) <> v_run then o_outcome := 'superseded'; return; end if;
  v_now := now_ms();
  -- The row of a run that is open has no event.
  insert into events (run_no, seq, type, op, at, payload, meta)
  select x.run_no, x.event_count, x.tail_type, x.tail_op, x.tail_at, x.tail_payload, x.tail_meta
    from runs x where x.run_id = v_run and x.tail_type is not null;
  insert into events (run_no, seq, type, op, at, payload, meta)
  values (r.run_no, p_event_count + 1, p_type, p_op,
          greatest(v_now, r.begun, r.tail_at, (select e.at from events e where e.run_no = r.run_no and e.seq = p_event_count)),
          p_payload, p_meta);
  update runs x set event_count = x.event_count + 1, epoch = x.epoch + 1, status = 'running', ended_at = null, deaths = 0,
      alone_deaths = 0, suspect = false, output = null, error = null, compensation = null, parked_by = null,
      tail_type = null, tail_at = null, tail_op = null, tail_payload = null, tail_meta = null,
      deadline_at = case when x.deadline_at is not null then v_now + r.timeout_ms end,
      available_at = v_now where x.run_id = v_run;
  perform forget_end(v_run);
  o_outcome := 'reopened';
  o_status := 'running';
  o_hints := send_hints(due_lines(array[v_run], v_now), p_notify);
end $$;

-- Returns the rows as they were before. The table lock makes two workers that register at the same time take turns.
create function register_versions(p_namespace text, p_workflow text[], p_version text[], p_hash text[], p_starts text[])
returns table (i int, was versions)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  lock table versions in share row exclusive mode;
  return query
    select k.i::int, v from unnest(p_workflow, p_version) with ordinality as k(workflow, version, i)
      left join versions v on v.namespace = p_namespace and v.workflow = k.workflow and v.version = k.version;
  insert into versions as v (namespace, workflow, version, hash, registered_at, starts)
  select distinct on (k.workflow, k.version) p_namespace, k.workflow, k.version, k.hash, now_ms(), k.starts
    from unnest(p_workflow, p_version, p_hash, p_starts) with ordinality as k(workflow, version, hash, starts, i)
   order by k.workflow, k.version, k.i desc
  on conflict (namespace, workflow, version) do update set hash = excluded.hash, starts = coalesce(excluded.starts, v.starts)
   where v.hash <> excluded.hash or excluded.starts <> coalesce(v.starts, '');
end $$;

create function update_version(
  p_namespace text, p_workflow text, p_version text, p_default boolean, p_share double precision, p_deprecated boolean)
returns boolean
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
begin
  lock table versions in share row exclusive mode;
  perform 1 from versions v where v.namespace = p_namespace and v.workflow = p_workflow and v.version = p_version;
  if not found then return false; end if;
  update versions v set
    is_default = case when p_default then v.version = p_version else v.is_default end,
    share = case when p_share is null then v.share when v.version = p_version then p_share else 0 end,
    deprecated = case when v.version = p_version then coalesce(p_deprecated, v.deprecated) else v.deprecated end
   where v.namespace = p_namespace and v.workflow = p_workflow;
  return true;
end $$;
`;
