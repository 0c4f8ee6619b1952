export const TRANSFERS = String.raw`
-- Runs that have left for another store, until they are known to have arrived: what their end here has overwritten (RestText in
-- model/rest-text.ts). Until then the row of the run says that it owes something, so that no purge deletes it.
create table departures (
  run_id    uuid primary key,
  epoch     int not null,
  at        bigint not null,
  namespace text collate "C" not null,
  departure uuid not null,
  target    text not null,
  shown     text not null,
  rest      text not null);
create index departures_list on departures (namespace, run_id);

-- Which store this is: one row, once somebody has asked.
create table identity (only_one boolean primary key default true check (only_one), store_id uuid not null);

create function identify_store(p_store uuid, out o_store uuid)
language plpgsql volatile security definer set search_path from current as $$
begin
  select i.store_id into o_store from identity i;
  if found then return; end if;
  insert into identity (store_id) values (p_store) on conflict do nothing;
  select i.store_id into o_store from identity i;
end $$;

-- What became of the last arrival of an open run: refused is null if it has arrived.
create table arrivals (run_id uuid primary key, epoch int not null, refused text);

-- What a run that is about to leave waits for.
create index watches_of on watches (run_id);
create index replies_of on replies (substring(reply_to from '"runId":"([^"]*)"')) where reply_to is not null;

create function base64(p bytea) returns text language sql immutable as $$ select translate(encode(p, 'base64'), E'\n', '') $$;

-- What a run has besides its row, its history and its messages. A task that waits for a place is due in the other store.
create function rest_of(p_run uuid, p_now bigint) returns text
language plpgsql stable set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare r record;
begin
  select x.status, x.available_at, x.waiting_for::text[] as waiting_for, x.error, x.parked_by, x.ended_at, coalesce(s.chain_id, s.run_id) as chain_id into r
    from runs x join run_starts s using (run_id) where x.run_id = p_run;
  return json_build_object(
    'status', r.status, 'availableAt', r.available_at, 'waitingFor', coalesce(r.waiting_for, '{}'), 'error', base64(r.error),
    'parkedBy', r.parked_by,
    'knownIds', case when r.ended_at is null then coalesce((
      select json_agg(json_build_array(k.message_id, k.kind) order by k.message_id)
        from (select m.message_id, min(m.kind) as kind from inbox m
               where m.chain_id = r.chain_id and m.run_id <> p_run and not is_result(m.kind)
                 and (select 1 from inbox o where o.chain_id = m.chain_id and hashtext(o.message_id) = hashtext(m.message_id)
                         and o.message_id = m.message_id and o.run_id = p_run limit 1) is null
               group by m.message_id) k), '[]') else '[]' end,
    'updates', coalesce((
      select json_agg(json_build_array(p.number, p.seq, base64(p.error)) order by p.number) from replies p
       where p.run_id = p_run and (p.seq is not null or p.error is not null)), '[]'),
    'tasks', case when r.ended_at is null then coalesce((
      select json_agg(json_build_object(
          'seq', t.seq, 'inputSeq', t.input_seq, 'op', t.op, 'name', l.name, 'queue', l.queue, 'requires', l.requires, 'priority', l.priority,
          'status', t.status, 'epoch', t.epoch, 'secret', replace(t.secret::text, '-', ''), 'attempt', t.attempt,
          'availableAt', case when t.standing = 1 then p_now else t.available_at end, 'expiresAt', t.expires_at, 'expires', t.expires,
          'canceled', t.canceled, 'deaths', t.deaths, 'aloneDeaths', t.alone_deaths, 'suspect', t.suspect, 'failOnCrash', t.fail_on_crash,
          'createdAt', t.created_at, 'external', t.external, 'beganAt', t.began_at, 'finishId', t.finish_id, 'key', t.key,
          'timeoutMs', t.timeout_ms, 'startTimeoutMs', t.start_timeout_ms, 'totalTimeoutMs', t.total_timeout_ms,
          'heartbeatMs', t.heartbeat_ms, 'details', base64(t.details), 'failures', base64(t.failures)) order by t.seq)
        from tasks t join task_lanes l using (lane_id) where t.run_id = p_run), '[]') else '[]' end)::text;
end $$;

create function read_rests(p_namespace text[], p_run uuid[]) returns table (i int, rest text, at bigint)
language plpgsql stable security definer set search_path from current as $$
#variable_conflict use_column
begin
  return query
    select k.i::int, rest_of(k.run_id, now_ms()), now_ms()
      from unnest(p_namespace, p_run) with ordinality as k(namespace, run_id, i)
      join run_starts s on s.run_id = k.run_id and s.namespace = k.namespace;
end $$;

-- What ties a run to others or to a lock, so that it cannot leave alone. Its row is locked: nobody else adds such a tie, and whoever
-- has something for the run cannot deliver that, and keeps the debt.
create function tie_of(p_run uuid) returns text
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare s run_starts;
begin
  select * into s from run_starts x where x.run_id = p_run;
  if (select x.owes from runs x where x.run_id = p_run) then return 'owes'; end if;
  if exists (select 1 from locks l where l.run_id = p_run) then return 'locks'; end if;
  if exists (select 1 from watches w where w.chain_id = coalesce(s.chain_id, s.run_id)) then return 'watched'; end if;
  if exists (select 1 from watches w where w.run_id = p_run) then return 'watches'; end if;
  if exists (select 1 from replies p where p.reply_to is not null and substring(p.reply_to from '"runId":"([^"]*)"') = p_run::text) then
    return 'asks';
  end if;
  if exists (select 1 from replies p where p.run_id = p_run and p.reply_to is not null) then return 'asked'; end if;
  -- The rows of a child: one for each run of its chain.
  if exists (select 1 from children c join runs r on r.run_id = c.run_id
              where c.parent_run_id = p_run and not c.given_up and (r.ended_at is null or r.owes)) then return 'children'; end if;
  if s.parent_id is not null and exists (
      select 1 from (select x.run_id from run_starts x where x.namespace = s.parent_namespace and x.id = s.parent_id
                      order by x.nth desc limit 1) n
        join runs r on r.run_id = n.run_id
       where r.ended_at is null or r.owes and r.status <> 'moved') then return 'parent'; end if;
  return null;
end $$;

-- Nothing here waits: if another transaction has locked the run or one of its tasks, it is busy.
create function depart_run(
  p_namespace text, p_run uuid, p_epoch int, p_commit int, p_delivered int, p_departure uuid, p_target text, p_to text, p_error bytea, p_notify boolean,
  out o_outcome text, out o_tie text, out o_rest text, out o_at bigint, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare r record; v_tasks int; v_run uuid[]; v_seq int[]; v_lines text[];
begin
  select x.run_id, x.epoch, x.commit_no, x.delivered, x.held_by, x.ended_at, s.namespace, s.id into r
    from runs x join run_starts s using (run_id)
   where x.run_id = p_run and s.namespace = p_namespace for no key update of x skip locked;
  if not found then
    o_outcome := case when (select 1 from run_starts s where s.run_id = p_run and s.namespace = p_namespace) is null
                      then 'not_found' else 'busy' end;
    return;
  end if;
  if r.ended_at is not null then
    select d.rest, d.at into o_rest, o_at from departures d where d.run_id = p_run and d.epoch = p_epoch + 1 and r.epoch = p_epoch + 1
       and d.departure = p_departure;
    o_outcome := case when o_rest is null then 'changed' else 'departed' end;
    return;
  end if;
  if r.held_by is not null then o_outcome := 'held'; return; end if;
  if (r.epoch, r.commit_no, r.delivered) <> (p_epoch, p_commit, p_delivered) then o_outcome := 'changed'; return; end if;
  select count(*) into v_tasks from (select 1 from tasks t where t.run_id = p_run for update skip locked) k;
  if unless_starting(array[p_run]) = '{}' or v_tasks < (select count(*) from tasks t where t.run_id = p_run) then o_outcome := 'busy'; return; end if;
  if exists (select 1 from tasks t where t.run_id = p_run and t.held_by is not null) then o_outcome := 'held'; return; end if;
  o_tie := tie_of(p_run);
  if o_tie is not null then o_outcome := 'tied'; return; end if;
  o_at := now_ms();
  o_rest := rest_of(p_run, o_at);
  with gone as (delete from tasks t where t.run_id = p_run returning t.run_id, t.seq, t.standing)
  select array_agg(g.run_id), array_agg(g.seq) into v_run, v_seq from gone g where g.standing > 0;
  update runs x set status = 'moved', epoch = x.epoch + 1, claim_id = null, alone = false, available_at = null, waiting_for = null,
      ended_at = end_time(x, o_at), error = p_error, compensation = null, owes = true where x.run_id = p_run;
  insert into departures (run_id, epoch, at, namespace, departure, target, shown, rest)
  values (p_run, p_epoch + 1, o_at, p_namespace, p_departure, p_target, p_to, o_rest);
  v_lines := hint_lines('e', array[r.namespace], array[p_run]) || give_places_back(v_run || p_run, v_seq || 0);
  o_hints := send_hints(v_lines, p_notify);
  o_outcome := 'departed';
end $$;

create function confirm_departure(p_namespace text, p_run uuid, p_epoch int) returns void
language plpgsql volatile security definer set search_path from current set enable_seqscan = off as $$
begin
  delete from departures d where d.run_id = p_run and d.namespace = p_namespace and d.epoch = p_epoch;
  if found then update runs r set owes = null where r.run_id = p_run; end if;
end $$;

-- The run whose number in its id decides that of one that arrives must not be deleted, or reopened where it comes before that one: its row is
-- locked, as start_runs does. Nothing waits: a call that fails is repeated.
create function keep_neighbor(p_run uuid, p_closed boolean default false) returns void language plpgsql volatile set enable_seqscan = off as $$
begin
  perform 1 from runs r where r.run_id = p_run and (not p_closed or r.ended_at is not null) for share nowait;
  if not found then raise exception 'the run % has changed', p_run using errcode = '55P03'; end if;
end $$;

-- judgeArrival (model/decisions/arrival.ts), and the number that the run gets in its id: behind the run that was judged or, if it is closed,
-- before it. If another run has come since then, it has that number, and the arrival is judged again.
create function judge_arrival(
  p_run uuid, p_namespace text, p_id text, p_closed boolean, p_epoch int, p_created_at bigint, out o_judged text, out o_nth int)
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off as $$
declare same record; noted record; other record; v_same boolean;
begin
  o_nth := 0;
  select r.status, r.epoch, s.namespace into same from runs r join run_starts s using (run_id) where r.run_id = p_run;
  v_same := found;
  if p_closed then
    if v_same then o_judged := 'exists'; return; end if;
    select s.created_at, s.run_id, s.nth into other from run_starts s where s.namespace = p_namespace and s.id = p_id order by s.nth limit 1;
    if found then
      if other.created_at <= p_created_at then o_judged := 'id_taken'; return; end if;
      perform keep_neighbor(other.run_id);
      o_nth := other.nth - 1;
    end if;
    o_judged := 'arrive';
    return;
  end if;
  select a.epoch, a.refused into noted from arrivals a where a.run_id = p_run;
  if found and noted.epoch >= p_epoch then o_judged := coalesce(noted.refused, 'arrived'); return; end if;
  if v_same and not (same.status = 'moved' and same.namespace = p_namespace and same.epoch < p_epoch) then o_judged := 'exists'; return; end if;
  select s.created_at, s.run_id, s.nth, r.ended_at into other from run_starts s join runs r using (run_id)
   where s.namespace = p_namespace and s.id = p_id and s.run_id <> p_run order by s.nth desc limit 1;
  if found then
    if other.ended_at is null or other.created_at >= p_created_at then o_judged := 'id_taken'; return; end if;
    perform keep_neighbor(other.run_id, true);
    o_nth := other.nth + 1;
  end if;
  o_judged := case when v_same then 'replace' else 'arrive' end;
end $$;

-- Writes a run as another store had it. Arrivals of one run take turns.
create function arrive_run(
  p_row text, p_input bytea, p_output bytea, p_error bytea, p_rest text, p_closed boolean,
  e_seq int[], e_type smallint[], e_op text[], e_at bigint[], e_payload bytea[], e_meta bytea[],
  m_number int[], m_kind text[], m_name text[], m_message text[], m_at bigint[], m_payload bytea[],
  p_notify boolean, out o_outcome text, out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare w record; z record; v_lane int; v_nth int; v_no bigint; v_judged text; v_lanes int[]; v_available bigint[]; v_lines text[]; v_now bigint;
begin
  select * into w from json_to_record(p_row::json) as x(
    namespace text, "runId" uuid, id text, "firstRunId" uuid, workflow text, version text, queue text, priority int, seed text,
    status run_status, epoch int, commit int, "availableAt" bigint, "eventCount" int, delivered int, consumed int, deaths smallint,
    "aloneDeaths" smallint, suspect boolean, "createdAt" bigint, "startedAt" bigint, "endedAt" bigint, "deadlineAt" bigint,
    "timeoutMs" bigint, attributes text, "waitingFor" text[], compensation text, "continuedFrom" uuid, "continuedAs" uuid,
    lineage json, "forkedFrom" json, key text);
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.arrive_run.' || w."runId", 0));
  select j.o_judged, j.o_nth into v_judged, v_nth
    from judge_arrival(w."runId", w.namespace, w.id, p_closed, w.epoch, w."createdAt") j;
  if v_judged = 'replace' then
    delete from departures d where d.run_id = w."runId";
    update runs r set owes = null where r.run_id = w."runId";
    if (select p.o_purged from purge_runs(w.namespace, 9223372036854775807, array['moved'], array[w."runId"], 1, false,
                                          -9223372036854775808, '00000000-0000-0000-0000-000000000000') p) <> 1 then
      raise exception 'the run % is locked', w."runId" using errcode = '55P03';
    end if;
  end if;
  if v_judged in ('arrive', 'replace') then
    select l.o_lanes[1] into v_lane
      from lanes_of(array[w.namespace], array[w.queue], array[w.workflow], array[w.version], array[w.priority]) l;
    insert into run_starts (run_id, chain_id, continued_from, created_at, lane_id, nth, namespace, id, timeout_ms, seed, input, parent_namespace,
                            parent_run_id, parent_id, parent_op, root_run_id, root_id, depth, forked_from, forked_from_id, key)
    values (w."runId", nullif(w."firstRunId", w."runId"), w."continuedFrom", w."createdAt", v_lane, v_nth, w.namespace, w.id, w."timeoutMs",
            nullif(w.seed, w."runId"::text), p_input, w.lineage #>> '{parent,namespace}', (w.lineage #>> '{parent,runId}')::uuid, w.lineage #>> '{parent,id}', w.lineage ->> 'op',
            (w.lineage #>> '{root,runId}')::uuid, w.lineage #>> '{root,id}', (w.lineage ->> 'depth')::smallint,
            (w."forkedFrom" ->> 'runId')::uuid, w."forkedFrom" ->> 'id', w.key);
  end if;
  if not p_closed then
    insert into arrivals as a (run_id, epoch, refused)
    values (w."runId", w.epoch, case when v_judged in ('exists', 'id_taken') then v_judged end)
    on conflict (run_id) do update set epoch = excluded.epoch, refused = excluded.refused where a.epoch < excluded.epoch;
  end if;
  if v_judged not in ('arrive', 'replace') then o_outcome := v_judged; return; end if;
  v_now := now_ms();
  select x."parkedBy", x."knownIds", x.updates, x.tasks into z
    from json_to_record(p_rest::json) as x("parkedBy" text, "knownIds" json, updates json, tasks json);
  insert into runs (run_id, available_at, created_at, started_at, ended_at, deadline_at, lane_id, epoch, commit_no, event_count, delivered,
                    consumed, status, deaths, alone_deaths, suspect, waiting_for, continued_as, compensation, output, error, parked_by, awaited,
                    involved)
  values (w."runId", case when not p_closed then w."availableAt" end, w."createdAt", w."startedAt", w."endedAt", w."deadlineAt", v_lane,
          w.epoch, w.commit, w."eventCount", w.delivered, w.consumed, w.status, w.deaths, w."aloneDeaths", w.suspect,
          nullif(w."waitingFor", '{}')::text, w."continuedAs", w.compensation, p_output, p_error, case when not p_closed then z."parkedBy" end,
          case when not p_closed and w.lineage ->> 'op' is not null then true end,
          case when not p_closed and w.lineage ->> 'op' is not null then true end)
  returning run_no into v_no;
  if w.attributes is not null then insert into run_attributes (run_id, attributes) values (w."runId", w.attributes::jsonb); end if;
  if w."forkedFrom" is not null then
    insert into forks (origin_run_id, created_at, run_id, namespace, id)
    values ((w."forkedFrom" ->> 'runId')::uuid, w."createdAt", w."runId", w.namespace, w.id);
  end if;
  insert into events (run_no, seq, type, op, at, payload, meta)
  select v_no, e.seq, e.type, e.op, e.at, e.payload, e.meta
    from unnest(e_seq, e_type, e_op, e_at, e_payload, e_meta) as e(seq, type, op, at, payload, meta);
  insert into inbox (run_id, chain_id, at, number, kind, name, message_id, payload)
  select w."runId", case when not is_run_end(m.kind) then w."firstRunId" end, m.at, m.number, m.kind, m.name, m.message_id, m.payload
    from unnest(m_number, m_kind, m_name, m_message, m_at, m_payload) as m(number, kind, name, message_id, at, payload);
  -- Under a run id that no run has, as a purge leaves them.
  insert into inbox (run_id, chain_id, at, number, kind, name, message_id, payload)
  select gen_random_uuid(), w."firstRunId", v_now, 0, k ->> 1, '', k ->> 0, '' from json_array_elements(z."knownIds") k;
  insert into replies (run_id, number, seq, error)
  select w."runId", (u ->> 0)::int, (u ->> 1)::int, decode(u ->> 2, 'base64') from json_array_elements(z.updates) u;
  if p_closed then o_outcome := 'arrived'; return; end if;
  v_lines := array(
    select E'd\t' || w.namespace || E'\t' || w.queue || case when w."availableAt" > v_now then E'\t' || w."availableAt" else '' end
     where w."availableAt" is not null);
  if json_array_length(z.tasks) > 0 then
    v_lanes := task_lanes_of(
      array(select w.namespace from json_array_elements(z.tasks)), array(select t ->> 'queue' from json_array_elements(z.tasks) t),
      array(select t ->> 'name' from json_array_elements(z.tasks) t),
      array(select array(select json_array_elements_text(t -> 'requires'))::text from json_array_elements(z.tasks) t),
      array(select (t ->> 'priority')::int from json_array_elements(z.tasks) t));
    with made as (
      insert into tasks (run_id, secret, created_at, available_at, began_at, expires_at, timeout_ms, start_timeout_ms, total_timeout_ms,
                         heartbeat_ms, seq, input_seq, lane_id, epoch, attempt, status, expires, deaths, alone_deaths, suspect, canceled,
                         fail_on_crash, external, op, finish_id, details, failures, key)
      select w."runId", (t ->> 'secret')::uuid, (t ->> 'createdAt')::bigint, (t ->> 'availableAt')::bigint, (t ->> 'beganAt')::bigint,
             (t ->> 'expiresAt')::bigint, (t ->> 'timeoutMs')::bigint, (t ->> 'startTimeoutMs')::bigint, (t ->> 'totalTimeoutMs')::bigint,
             (t ->> 'heartbeatMs')::bigint, (t ->> 'seq')::int, (t ->> 'inputSeq')::int, v_lanes[k.i], (t ->> 'epoch')::int,
             (t ->> 'attempt')::int, (t ->> 'status')::task_status, (t ->> 'expires')::task_expiry, (t ->> 'deaths')::smallint,
             (t ->> 'aloneDeaths')::smallint, (t ->> 'suspect')::boolean, (t ->> 'canceled')::boolean, (t ->> 'failOnCrash')::boolean,
             (t ->> 'external')::boolean, t ->> 'op', t ->> 'finishId', decode(t ->> 'details', 'base64'),
             decode(t ->> 'failures', 'base64'), t ->> 'key'
        from json_array_elements(z.tasks) with ordinality as k(t, i)
      returning lane_id, available_at)
    select array_agg(m.lane_id), array_agg(m.available_at) into v_lanes, v_available from made m;
    v_lines := v_lines || due_task_lines(v_lanes, v_available, v_now);
  end if;
  o_hints := send_hints(v_lines, p_notify);
  o_outcome := 'arrived';
end $$;
`;
