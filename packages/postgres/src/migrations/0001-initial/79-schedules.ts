export const SCHEDULES = String.raw`
-- Schedules. Of their state, what indexes and the leader need is repeated in columns: next_at, waits, failures and open_id. All
-- else is opaque: JSON as bytes, which may contain any text. A decision is one element.
create table schedules (
  namespace  text collate "C",
  id         text collate "C",
  revision   uuid not null,
  created_at bigint not null,
  next_at    bigint,
  -- 0: no time is buffered; 1: look when the open run has ended; 2: look in any case.
  waits      smallint not null,
  failures   int not null,
  open_id    text collate "C",
  definition bytea not null,
  state      bytea not null,
  input      bytea not null,
  decisions  bytea[] not null,
  primary key (namespace, id)
) with (fillfactor = 50);
create index schedules_due on schedules (next_at, namespace, id) where next_at is not null;
create index schedules_waiting on schedules (namespace, id) where waits > 0;

-- The worker that fires schedules.
create table leader (one boolean primary key default true check (one), worker_id uuid not null, since bigint not null);

-- Whether the newest run of that id is open.
create function is_open_id(p_namespace text, p_id text) returns boolean language plpgsql stable set enable_seqscan = off as $$
declare v_open boolean;
begin
  select r.ended_at is null into v_open from run_starts s join runs r using (run_id)
   where s.namespace = p_namespace and s.id = p_id order by s.nth desc limit 1;
  return coalesce(v_open, false);
end $$;

-- A schedule as the port sees it, with the newest run of its open id.
create view schedule_rows as
select k.namespace, k.id, k.revision, k.created_at, k.next_at, k.waits, k.failures, k.definition, k.state, k.input,
       o.run_id as open_run_id, o.status as open_status, o.error as open_error
  from schedules k
  left join lateral (select r.run_id, r.status, r.error from run_starts s join runs r using (run_id)
                      where s.namespace = k.namespace and s.id = k.open_id order by s.nth desc limit 1) o on true;

-- Changes of schedules, each with its starts. One that has moved, that is locked, or that would start a run whose id another run
-- has, is left out with its starts. The row lock is taken before the runs are looked at. What another transaction is about to create,
-- a schedule or a run of the same id, is waited for, but not for long: the put that needs it is busy, and the others are written.
-- A run that a put terminates ends in the same step in which the put is written, so not if the id of a start turns out to be taken.
create function put_schedules(
  p_namespace text[], p_id text[], p_revision uuid[], p_next uuid[], p_definition bytea[], p_input bytea[], p_state bytea[],
  p_next_at bigint[], p_waits smallint[], p_failures int[], p_open_id text[], p_assumes boolean[],
  p_terminates uuid[], p_errors bytea[],
  p_decided int[],       -- where the decisions of each put end; they begin where those of the put before it end
  d_decision bytea[], p_decisions_max int,
  s_i int[],             -- per start: the position of its put; the others are those of start_runs
  s_run uuid[], s_namespace text[], s_id text[], s_workflow text[], s_version text[], s_queue text[], s_priority int[], s_seed text[],
  s_input bytea[], s_attributes text[], s_start_at bigint[], s_delay bigint[], s_timeout bigint[], s_key text[], s_pick double precision[],
  p_announce boolean, p_notify boolean,
  out o_outcome text[], out o_taken text[], out o_taken_i int[], out o_owes int[], out o_now bigint, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan set lock_timeout = '100ms' as $$
declare
  l_i int[]; l_revision uuid[]; l_open text[];
  v_left int[];          -- puts that are still to be written: all at once, and if that fails each of them alone
  v_alone boolean := false; v_some int[]; v_starts int[]; v_answers int; v_row record; v_lines text;
  v_ends int[]; v_locked int[]; v_owing int[]; v_end_lines text;
begin
  select array_agg(k.i), array_agg(k.revision), array_agg(k.open_id) into l_i, l_revision, l_open
    from (select p.i::int, s.revision, s.open_id from unnest(p_namespace, p_id) with ordinality as p(namespace, id, i)
            join schedules s on s.namespace = p.namespace and s.id = p.id for update of s skip locked) k;
  o_now := now_ms();
  select array_agg(s.id order by s.n), array_agg(s.i order by s.n) into o_taken, o_taken_i
    from unnest(s_i, s_namespace, s_id) with ordinality as s(i, namespace, id, n)
   where exists (select 1 from run_starts r where r.namespace = s.namespace and r.id = s.id);
  select array_agg(case
           when l.i is null and (select 1 from schedules s where s.namespace = p.namespace and s.id = p.id) is not null then 'busy'
           when l.revision = p_next[p.i] then 'written'
           when l.revision is distinct from p_revision[p.i] then 'moved'
           when l.i is not null and p_assumes[p.i] <> is_open_id(p.namespace, l.open_id) then 'moved'
           when p_terminates[p.i] is not null and (l.i is null or not is_open_id(p.namespace, l.open_id)
                or run_of(null, p.namespace, l.open_id) is distinct from p_terminates[p.i]) then 'moved'
           when l.i is null and (p_definition[p.i] is null or p_input[p.i] is null) then 'moved'
           when p.i = any (o_taken_i) then 'taken'
           when l.i is not null then 'change'
           else 'create' end order by p.i)
    into o_outcome
    from unnest(p_namespace, p_id) with ordinality as p(namespace, id, i)
    left join unnest(l_i, l_revision, l_open) as l(i, revision, open_id) on l.i = p.i;
  v_left := array(select k.i::int from unnest(o_outcome) with ordinality as k(outcome, i) where k.outcome in ('create', 'change') order by k.i);
  while cardinality(v_left) > 0 loop
    v_some := case when v_alone then v_left[1:1] else v_left end;
    begin
      v_locked := '{}'; v_owing := '{}'; v_end_lines := null;
      v_ends := array(select c.i from unnest(v_some) c(i) where p_terminates[c.i] is not null order by 1);
      if cardinality(v_ends) > 0 then
        select coalesce(array_agg(v_ends[e.i]) filter (where e.i > 0 and e.outcome <> 'terminated'), '{}'),
               array_agg(v_ends[e.i]) filter (where e.owes), max(e.hints) into v_locked, v_owing, v_end_lines
          from terminate_runs(array(select p_terminates[n] from unnest(v_ends) n), array(select p_namespace[n] from unnest(v_ends) n),
                              array(select null::text from unnest(v_ends) n), array(select p_errors[n] from unnest(v_ends) n), p_notify) e;
        v_some := array(select c.i from unnest(v_some) c(i) where c.i <> all (v_locked) order by 1);
      end if;
      insert into schedules (namespace, id, revision, created_at, next_at, waits, failures, open_id, definition, state, input, decisions)
      select p_namespace[n.i], p_id[n.i], p_next[n.i], o_now, p_next_at[n.i], p_waits[n.i], p_failures[n.i], p_open_id[n.i],
             p_definition[n.i], p_state[n.i], p_input[n.i], d_decision[coalesce(p_decided[n.i - 1], 0) + 1:p_decided[n.i]]
        from unnest(v_some) n(i) where o_outcome[n.i] = 'create' order by 1, 2;
      update schedules k set revision = p_next[c.i], next_at = p_next_at[c.i], waits = p_waits[c.i], failures = p_failures[c.i],
          open_id = p_open_id[c.i], definition = coalesce(p_definition[c.i], k.definition), state = p_state[c.i],
          input = coalesce(p_input[c.i], k.input),
          -- The last ones.
          decisions = (k.decisions || d_decision[coalesce(p_decided[c.i - 1], 0) + 1:p_decided[c.i]])[
            greatest(1, cardinality(k.decisions) + p_decided[c.i] - coalesce(p_decided[c.i - 1], 0) - p_decisions_max + 1):]
        from unnest(v_some) c(i)
       where o_outcome[c.i] = 'change' and k.namespace = p_namespace[c.i] and k.id = p_id[c.i];
      v_starts := array(select s.n::int from unnest(s_i) with ordinality as s(i, n) where s.i = any (v_some) order by s.n);
      v_answers := 0; v_lines := null;
      if cardinality(v_starts) > 0 then
        for v_row in
          select r.i, r.outcome, r.hints, r.made from start_runs(
            array(select s_run[n] from unnest(v_starts) n), array(select s_namespace[n] from unnest(v_starts) n),
            array(select s_id[n] from unnest(v_starts) n), array(select s_workflow[n] from unnest(v_starts) n),
            array(select s_version[n] from unnest(v_starts) n), array(select s_queue[n] from unnest(v_starts) n),
            array(select s_priority[n] from unnest(v_starts) n), array(select s_seed[n] from unnest(v_starts) n),
            array(select s_input[n] from unnest(v_starts) n), array(select s_attributes[n] from unnest(v_starts) n),
            array(select s_start_at[n] from unnest(v_starts) n), array(select s_delay[n] from unnest(v_starts) n),
            array(select s_timeout[n] from unnest(v_starts) n), array(select s_key[n] from unnest(v_starts) n), array(select 'return' from unnest(v_starts) n),
            array(select 'return' from unnest(v_starts) n), array(select false from unnest(v_starts) n),
            array(select s_pick[n] from unnest(v_starts) n), null, null, ''::bytea,
            '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', null, '{}', '{}', '{}', '{}', null, v_alone, p_notify) r
        loop
          if v_row.i = 0 then
            v_lines := v_row.hints;
            v_answers := v_answers + coalesce(cardinality(string_to_array(nullif(v_row.made, ''), ',')), 0);
          elsif v_row.outcome = 'created' then
            v_answers := v_answers + 1;
          end if;
        end loop;
        -- Somebody else has started one of them since we looked.
        if v_answers < cardinality(v_starts) then
          raise exception 'another transaction has started a run that a schedule starts' using errcode = '55P03';
        end if;
      end if;
      o_hints := nullif(concat_ws(E'\n', o_hints, v_end_lines, v_lines), '');
      o_owes := o_owes || v_owing;
      select array_agg(case when k.i = any (v_some) then 'written' when k.i = any (v_locked) then 'busy' else k.outcome end order by k.i)
        into o_outcome from unnest(o_outcome) with ordinality as k(outcome, i);
      v_left := v_left[cardinality(v_some) + cardinality(v_locked) + 1:];
    exception when lock_not_available or unique_violation then
      -- Nothing of these is written.
      if v_alone then
        o_outcome[v_left[1]] := 'busy';
        v_left := v_left[2:];
      end if;
      v_alone := true;
    end;
  end loop;
  if p_announce then o_hints := concat_ws(E'\n', o_hints, send_hints(array['s'], p_notify)); end if;
end $$;

-- Those behind a position; p_due_after is null if that is one of a schedule that is there because of its buffered times.
create function due_schedules(p_limit int, p_due_after bigint, p_namespace text, p_id text)
returns table (now bigint, next_at bigint, waiting boolean, awaited text[], schedule schedule_rows)
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_now bigint := now_ms(); v_next bigint; v_waiting boolean; v_awaited text[];
  v_namespace text := case when p_due_after is null then p_namespace else '' end;
  v_id text := case when p_due_after is null then p_id else '' end;
begin
  select k.next_at into v_next from schedules k where k.next_at > v_now order by k.next_at limit 1;
  v_waiting := exists (select 1 from schedules k where k.waits > 0);
  if v_waiting then
    v_awaited := array(
      select o.run_id::text
        from (select s.namespace, s.id, s.open_id from schedules s where s.waits > 0 order by s.namespace, s.id limit p_limit - 1) k
       cross join lateral (select r.run_id, r.ended_at from run_starts s join runs r using (run_id)
                            where s.namespace = k.namespace and s.id = k.open_id order by s.nth desc limit 1) o
       where o.ended_at is null order by k.namespace, k.id);
  end if;
  return query select v_now, v_next, v_waiting, v_awaited, null::schedule_rows;
  return query
    with due as materialized (
      select k.namespace, k.id, 0 as rank, k.next_at as at from schedules k
       where k.next_at <= v_now and (k.next_at, k.namespace, k.id) > (p_due_after, p_namespace, p_id)
       order by k.next_at, k.namespace, k.id limit p_limit
    ), waiting as materialized (
      select k.namespace, k.id, 1 as rank, 0::bigint as at from schedules k
       where k.waits > 0 and (k.namespace, k.id) > (v_namespace, v_id) and (k.next_at is null or k.next_at > v_now) and (k.waits = 2 or not is_open_id(k.namespace, k.open_id))
       order by k.namespace, k.id limit p_limit
    ), found as (
      select * from due union all select * from waiting order by rank, at, namespace, id limit p_limit)
    select v_now, v_next, v_waiting, null::text[], v from found f join schedule_rows v on v.namespace = f.namespace and v.id = f.id
     order by f.rank, f.at, f.namespace, f.id;
end $$;

create function remove_schedule(p_namespace text, p_id text, out o_removed boolean)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off as $$
begin
  delete from schedules k where k.namespace = p_namespace and k.id = p_id;
  o_removed := found;
end $$;

-- The leader steps down. Returns the hint for others, if it was the leader.
create function step_down(p_worker uuid) returns text[] language plpgsql volatile set enable_seqscan = off as $$
begin
  delete from leader l where l.worker_id = p_worker;
  return case when found then array['l'] else '{}'::text[] end;
end $$;

-- A leader that is offline was declared dead: one that stops steps down itself. Returns the hint for others.
create function step_down_if_offline() returns text[] language plpgsql volatile set enable_seqscan = off as $$
begin
  delete from leader l using workers w where w.worker_id = l.worker_id and w.status = 'offline';
  return case when found then array['l'] else '{}'::text[] end;
end $$;

-- A live worker has registered, or its heartbeat has come: it leads if it may and nobody else does.
create function lead(
  p_worker uuid, p_may boolean, p_now bigint, p_notify boolean,
  out o_leads boolean, out o_next_at bigint, out o_waiting boolean, out o_retains boolean, out o_hints text)
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off as $$
declare v_leader uuid; v_leading boolean;
begin
  o_leads := false;
  select l.worker_id, w.status = 'online' and w.lease_expires_at > p_now into v_leader, v_leading
    from leader l left join workers w using (worker_id);
  if not p_may then
    if v_leader = p_worker then o_hints := send_hints(step_down(p_worker), p_notify); end if;
    return;
  end if;
  if v_leader is distinct from p_worker then
    if v_leading then return; end if;
    -- Two workers may be here at once: one of them finds that the other has taken the place.
    insert into leader as l (worker_id, since) values (p_worker, p_now)
    on conflict (one) do update set worker_id = p_worker, since = p_now where l.worker_id is not distinct from v_leader;
    if not found then return; end if;
  end if;
  o_leads := true;
  select k.next_at into o_next_at from schedules k where k.next_at is not null order by k.next_at limit 1;
  o_waiting := exists (select 1 from schedules k where k.waits > 0);
  o_retains := exists (select 1 from retention);
end $$;
`;
