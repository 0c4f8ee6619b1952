export const TASKS_FINISH = String.raw`
-- Whether a call with this id has delivered the result of a task, and the run has not consumed it yet. The id of such a
-- message is: tab, "task", tab, seq, tab, attempt, tab, the id of the call. A line feed follows a tab.
create function was_finished(p_namespace text, p_run uuid, p_seq int, p_finish text) returns boolean
language plpgsql stable as $$
begin
  return (select 1 from run_starts s
            join runs r on r.run_id = s.run_id
            join inbox m on m.run_id = s.run_id and m.number > r.consumed
             and m.message_id > E'\ttask\t' || p_seq || E'\t' and m.message_id < E'\ttask\t' || p_seq || E'\n'
           where s.run_id = p_run and s.namespace = p_namespace and split_part(m.message_id, E'\t', 5) = p_finish
           limit 1) is not null;
end $$;

-- Ends attempts: judgeFinish (model/decisions/task.ts) on the locked rows. First the runs that get a result are locked, then
-- the tasks; what another transaction has locked is busy, and nothing waits.
create function finish_tasks(
  p_namespace text[], p_run uuid[], p_seq int[], p_epoch int[],
  p_by "char"[],         -- h the holder, t someone with the token, e time
  p_worker uuid[], p_secret uuid[], p_finish text[],
  p_result "char"[],     -- c completed, f failed, k failed and kept, r retry, l release, x external, d its process died, a so it did alone
  p_payload bytea[], p_delay bigint[], p_suspect int[], p_park int[], p_failures bytea[], p_notify boolean,
  out o_outcome text,    -- per task: d done, l lost, c closed, b busy
  out o_now bigint, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off as $$
declare
  -- The finishes that need no run or whose run could be locked, and the state of that run.
  l_i int[]; l_run tid[]; l_closed boolean[]; l_held uuid[]; l_delivered int[];
  k_i int[]; k_task tid[]; k_run tid[]; k_closed boolean[]; k_held uuid[]; k_delivered int[];  -- and whose task could be
  v_i int[]; v_outcome "char"[]; v_lines text[]; v_more text[]; v_due text[]; v_freed uuid[]; v_freed_seq int[];
begin
  -- 1. The runs, each once for all of its results.
  select array_agg(p.i::int), array_agg(k.place), array_agg(k.closed), array_agg(k.held_by), array_agg(k.delivered)
    into l_i, l_run, l_closed, l_held, l_delivered
    from (select g.positions, r.ctid as place, r.ended_at is not null as closed, r.held_by, r.delivered
            from (select a.run_id, array_agg(a.i) as positions
                    from unnest(p_run, p_result) with ordinality as a(run_id, result, i)
                   where a.result in ('c', 'f', 'k') group by a.run_id) g
            join runs r on r.run_id = g.run_id
             for no key update of r skip locked) k
   cross join lateral unnest(k.positions) as p(i);
  l_i := l_i || array(select a.i::int from unnest(p_result) with ordinality as a(result, i)
                       where a.result not in ('c', 'f', 'k'));
  -- 2. Their tasks.
  select array_agg(k.i), array_agg(k.task), array_agg(k.run), array_agg(k.closed), array_agg(k.held_by), array_agg(k.delivered)
    into k_i, k_task, k_run, k_closed, k_held, k_delivered
    from (select l.*, t.ctid as task from unnest(l_i, l_run, l_closed, l_held, l_delivered) as l(i, run, closed, held_by, delivered)
            join tasks t on t.run_id = p_run[l.i] and t.seq = p_seq[l.i]
             for update of t skip locked) k;
  o_now := now_ms();
  -- 3. Judge with a new snapshot, number the messages, and write.
  with known as materialized (
    select k.i, p_by[k.i] as by, p_result[k.i] as result, k.task, k.run, k.closed, k.held_by as run_held_by, k.delivered, t.run_id,
           t.seq, t.op, t.attempt, t.held_by, t.epoch, t.status, t.secret, t.finish_id, t.expires_at, t.standing,
           (select n.namespace from task_lanes n where n.lane_id = t.lane_id) as namespace,
           -- afterTaskProcess (model/decisions/task.ts)
           p_result[k.i] in ('d', 'a') as died,
           p_result[k.i] in ('d', 'a') and (t.alone or p_result[k.i] = 'a') as alone_died,
           p_result[k.i] = 'd' and t.deaths + 1 >= p_suspect[k.i] as suspected,
           p_result[k.i] in ('d', 'a') and (t.fail_on_crash
             or t.alone_deaths + (t.alone or p_result[k.i] = 'a')::int >= p_park[k.i]) as crashed,
           -- A suspect keeps its place: it is claimed alone, whenever a worker is empty.
           p_result[k.i] in ('r', 'l', 'x', 'd', 'a') and (t.suspect or p_result[k.i] = 'd' and t.deaths + 1 >= p_suspect[k.i]) as keeps_place,
           row_number() over (partition by k.task order by k.i) as copy
      from unnest(k_i, k_task, k_run, k_closed, k_held, k_delivered) as k(i, task, run, closed, held_by, delivered)
      join tasks t on t.ctid = k.task
  ), judged as materialized (
    select k.*, case
        when k.copy > 1 then 'b'
        when k.namespace <> p_namespace[k.i] then 'l'
        when k.by = 't' and k.secret is distinct from p_secret[k.i] then 'l'
        when k.by = 't' and k.epoch > p_epoch[k.i] and k.finish_id = p_finish[k.i] then 'd'
        when k.epoch <> p_epoch[k.i] or k.status = 'dead' then 'l'
        when k.by = 'h' and k.held_by = p_worker[k.i] or k.by = 't' and k.status in ('held', 'external')
             or k.by = 'e' and k.expires_at <= o_now or k.by = 'o' and k.status = 'held' then case when k.closed then 'c' else 'f' end
        else 'l' end::"char" as outcome
      from known k
  ), numbered as materialized (
    select j.*, j.delivered + row_number() over (partition by j.run order by j.i) as number
      from judged j where j.outcome = 'f' and j.result in ('c', 'f', 'k')
  ), counted as (
    update runs r set delivered = r.delivered + c.n,
        available_at = case when r.held_by is null and r.status <> 'parked' and r.started_at is not null
                            then least(r.available_at, o_now) else r.available_at end
      from (select d.run, count(*)::int as n from numbered d group by d.run) c
     where r.ctid = c.run returning r.lane_id, r.available_at
  ), inserted as (
    insert into inbox (run_id, chain_id, number, kind, name, message_id, payload, at)
    select d.run_id, (select coalesce(s.chain_id, s.run_id) from run_starts s where s.run_id = d.run_id), d.number,
           case when d.result = 'c' then 'task_completed' else 'task_failed' end, d.op,
           E'\ttask\t' || d.seq || E'\t' || d.attempt || E'\t' || coalesce(p_finish[d.i], ''), p_payload[d.i], o_now
      from numbered d
  ), deleted as (
    delete from tasks t using judged j
     where t.ctid = j.task and (j.outcome = 'c' or j.outcome = 'f' and j.result in ('c', 'f'))
  ), changed as (
    update tasks t set
      status = case when j.result = 'k' then 'dead' when j.result = 'x' or t.external then 'external' else 'due' end::task_status,
      epoch = t.epoch + (j.result <> 'x')::int,
      attempt = t.attempt + (j.result = 'r')::int,
      finish_id = case when j.result = 'x' then t.finish_id when j.result in ('k', 'r') then p_finish[j.i] end,
      failures = case when j.result in ('k', 'r') or j.died then p_failures[j.i] else t.failures end,
      held_by = null, claim_id = null, alone = false, standing = case when j.keeps_place then t.standing end,
      deaths = t.deaths + j.died::int, alone_deaths = t.alone_deaths + j.alone_died::int, suspect = t.suspect or j.suspected,
      available_at = case when j.returned and not t.external and not t.canceled and not j.crashed then j.due_at end,
      began_at = case when j.returned and t.external then o_now else t.began_at end,
      expires_at = case when j.result = 'x' and t.canceled then t.expires_at
        when j.result = 'x' then held_expires_at(t.began_at, t.timeout_ms, o_now, t.heartbeat_ms, task_grace(true), t.created_at, t.total_timeout_ms)
        when j.result = 'k' then null
        when j.crashed then o_now
        when t.external then held_expires_at(o_now, t.timeout_ms, o_now, t.heartbeat_ms, task_grace(true), t.created_at, t.total_timeout_ms)
        when t.canceled then o_now
        else due_expires_at(j.due_at, t.start_timeout_ms, t.created_at, t.total_timeout_ms) end,
      expires = case when j.result = 'x' and t.canceled then t.expires
        when j.result = 'x' then held_expires(t.began_at, t.timeout_ms, o_now, t.heartbeat_ms, task_grace(true), t.created_at, t.total_timeout_ms)
        when j.result = 'k' then null
        when j.crashed then 'crash'
        when t.external then held_expires(o_now, t.timeout_ms, o_now, t.heartbeat_ms, task_grace(true), t.created_at, t.total_timeout_ms)
        when t.canceled then 'cancel'
        else due_expires(j.due_at, t.start_timeout_ms, t.created_at, t.total_timeout_ms) end
      from (select x.i, x.task, x.result, x.died, x.alone_died, x.suspected, x.crashed, x.keeps_place,
                   x.result in ('r', 'l', 'd', 'a') as returned, o_now + coalesce(p_delay[x.i], 0) as due_at
              from judged x where x.outcome = 'f' and x.result in ('k', 'r', 'l', 'x', 'd', 'a')) j
     where t.ctid = j.task returning t.lane_id, t.available_at
  )
  select array_agg(j.i), array_agg(case when j.outcome = 'f' then 'd' else j.outcome end),
         -- Whoever finishes a task may be someone else than its holder, who must stop.
         task_lines(array_agg(j.held_by) filter (where j.outcome in ('f', 'c') and j.by <> 'h'),
                    array_agg(j.run_id) filter (where j.outcome in ('f', 'c') and j.by <> 'h'),
                    array_agg(j.seq) filter (where j.outcome in ('f', 'c') and j.by <> 'h')),
         (select hint_lines('i', array_agg(d.run_held_by::text), array_agg(d.run_id))
            from (select distinct n.run_id, n.run_held_by from numbered n) d)
         || (select due_task_lines(array_agg(c.lane_id), array_agg(c.available_at), o_now) from changed c),
         (select array_agg(distinct E'd\t' || n.namespace || E'\t' || n.queue)
            from (select distinct c.lane_id from counted c where c.available_at <= o_now) c join lanes n using (lane_id)),
         array_agg(j.run_id) filter (where (j.outcome = 'c' or j.outcome = 'f' and not j.keeps_place) and j.standing > 0),
         array_agg(j.seq) filter (where (j.outcome = 'c' or j.outcome = 'f' and not j.keeps_place) and j.standing > 0)
    into v_i, v_outcome, v_lines, v_more, v_due, v_freed, v_freed_seq from judged j;
  if v_freed is not null then v_more := v_more || give_places_back(v_freed, v_freed_seq); end if;
  -- 4. The others: there is no such task (any more), or another transaction has it or its run locked.
  if coalesce(cardinality(v_i), 0) < cardinality(p_run) then
    select v_i || array_agg(x.i::int), v_outcome || array_agg(x.outcome::"char") into v_i, v_outcome
      from (select a.i, case when t.found then 'b'
                             when a.by = 't' and was_finished(a.namespace, a.run_id, a.seq, p_finish[a.i]) then 'd'
                             else 'l' end as outcome
              from unnest(p_namespace, p_run, p_seq, p_by) with ordinality as a(namespace, run_id, seq, by, i)
              left join lateral (select n.namespace = a.namespace as found from tasks t join task_lanes n using (lane_id)
                                  where t.run_id = a.run_id and t.seq = a.seq limit 1) t on true
             where v_i is null or a.i <> all (v_i)) x;
  end if;
  o_outcome := (select string_agg(k.outcome::text, '' order by k.i) from unnest(v_i, v_outcome) as k(i, outcome));
  o_hints := send_hints(coalesce(v_lines, '{}') || v_more || v_due, p_notify);
end $$;
`;
