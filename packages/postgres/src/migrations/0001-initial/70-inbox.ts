import { eventsAfter } from "./10-tables.ts";

export const INBOX = String.raw`
-- The newest of the runs that have continued the one with that run id, which is gone. (In plpgsql, both: see hint_lines.)
create function newest_of_chain(p_first uuid, p_namespace text) returns uuid language plpgsql stable as $$
begin
  return (select s.run_id from run_starts s where s.chain_id = p_first and s.continued_from is not null and s.namespace = p_namespace
           order by s.created_at desc limit 1);
end $$;

-- The run that a reference means within the namespace: the run with that run id, or the newest run of that id.
create function run_of(p_run uuid, p_namespace text, p_id text) returns uuid language plpgsql stable as $$
begin
  if p_run is null then
    return (select s.run_id from run_starts s where s.namespace = p_namespace and s.id = p_id order by s.nth desc limit 1);
  end if;
  return coalesce((select s.run_id from run_starts s where s.run_id = p_run and s.namespace = p_namespace), newest_of_chain(p_run, p_namespace));
end $$;

-- Puts messages into inboxes. The row lock on the run orders deliveries: its state is read under the lock, and duplicates are
-- searched for after taking it, with a new snapshot. Nothing waits: a run that another transaction has locked, or that has just
-- continued, is busy. Results go to exactly the run that is named; ends of runs are not remembered.
-- A message with a hold takes its run for a worker (mayTake in model/decisions/delivery.ts). KEY SHARE on the worker blocks the sweep,
-- as in claim_runs; if that comes first, nothing is taken.
create function deliver_messages(
  p_run uuid[], p_namespace text[], p_id text[], p_kind text[], p_name text[], p_message text[], p_payload bytea[],
  p_inbox_max int, p_notify boolean,
  p_from text[] default null,      -- the namespaces of the runs that send them; empty if no run does
  p_reply_to text[] default null,
  p_note_type smallint default null,  -- if a cancel makes a paused run due: what is recorded of that, per message
  p_notes bytea[] default null,
  p_epoch int[] default null,      -- of a pause or a resume: the epoch of the run that it is for
  p_hold_run uuid[] default null,  -- per message: the run that the worker takes, if it has that epoch
  p_hold_epoch int[] default null,
  p_hold_by uuid default null, p_claim uuid default null)
returns table (i int, outcome text, run_id uuid, status run_status, hints text,
  number int, at bigint)           -- of a message whose run was taken
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  v_now bigint; v_lines text[]; v_due text[];
  v_target uuid[];       -- per message: its run
  -- The messages whose run could be locked, and the state of that run.
  l_i int[]; l_run uuid[]; l_row tid[]; l_status run_status[]; l_held uuid[]; l_next uuid[]; l_closed boolean[];
  l_delivered int[]; l_consumed int[]; l_epoch int[]; l_take boolean[];
  v_i int[]; v_outcome text[]; v_run uuid[]; v_status run_status[]; v_number int[]; v_cancel record;
  v_home text;           -- the namespace of the worker that takes runs; null if none does
  v_refused int[] := '{}';  -- messages from namespaces that were not let in
  v_one record; v_take boolean; v_lane int;
begin
  if cardinality(p_from) > 0 then
    v_refused := array(select k.i from generate_subscripts(p_message, 1) k(i) where not is_allowed(p_namespace[k.i], p_from[k.i]));
  end if;
  if p_hold_by is not null then
    select w.namespace into v_home from workers w where w.worker_id = p_hold_by and w.status <> 'offline' for key share skip locked;
  end if;
  -- One message to an open run, as on an idle system: the same in small statements. Preparing the large ones below to run takes
  -- longer than all of these. What is not plainly delivered goes on there.
  if cardinality(p_message) = 1 and p_kind[1] in ('signal', 'update') and p_from[1] is null and p_reply_to[1] is null and p_epoch[1] is null then
    if p_run[1] is null then
      select array[s.run_id] into v_target from run_starts s where s.namespace = p_namespace[1] and s.id = p_id[1] order by s.nth desc limit 1;
    else v_target := p_run;
    end if;
    select r.run_id, coalesce(s.chain_id, s.run_id) as chain_id, r.ctid as place, r.status, r.held_by, r.delivered, r.consumed, r.epoch,
           r.held_by is null and not r.suspect and coalesce((r.waiting_for::text[])[1], '') not like 'queue:%#05' as free into v_one
      from run_starts s join runs r on r.run_id = s.run_id
     where s.run_id = v_target[1] and s.namespace = p_namespace[1] and r.ended_at is null and r.status <> 'parked'
       for no key update of r skip locked;
    if found and v_one.delivered - v_one.consumed < p_inbox_max
       and (select 1 from inbox x where x.chain_id = v_one.chain_id and hashtext(x.message_id) = hashtext(p_message[1])
              and x.message_id = p_message[1] limit 1) is null then
      v_now := now_ms();
      v_take := coalesce(v_one.free and p_hold_run[1] = v_one.run_id and p_hold_epoch[1] = v_one.epoch and p_namespace[1] = v_home, false);
      update runs r set delivered = r.delivered + 1,
          available_at = case when v_take then null
                              when r.held_by is null and r.started_at is not null then least(r.available_at, v_now) else r.available_at end,
          epoch = r.epoch + v_take::int,
          held_by = case when v_take then p_hold_by else r.held_by end,
          claim_id = case when v_take then p_claim else r.claim_id end,
          alone = r.alone and not v_take,
          waiting_for = case when not v_take then r.waiting_for end,
          started_at = case when v_take then coalesce(r.started_at, greatest(v_now, r.created_at)) else r.started_at end,
          status = case when v_take and r.status <> 'compensating' then 'running' else r.status end
       where r.ctid = v_one.place returning case when r.available_at <= v_now then r.lane_id end into v_lane;
      insert into inbox (run_id, chain_id, number, kind, name, message_id, payload, at)
      values (v_one.run_id, v_one.chain_id, v_one.delivered + 1, p_kind[1], p_name[1], p_message[1], p_payload[1], v_now);
      if v_one.held_by is not null then v_lines := array[E'i\t' || v_one.held_by || E'\t' || v_one.run_id]; end if;
      if v_lane is not null then
        v_lines := v_lines || (select E'd\t' || n.namespace || E'\t' || n.queue from lanes n where n.lane_id = v_lane);
      end if;
      i := 1; outcome := 'delivered'; run_id := v_one.run_id; status := v_one.status;
      if v_take then number := v_one.delivered + 1; at := v_now; end if;
      return next;
      i := 0; outcome := 'hints'; run_id := null; status := null; number := null; at := null; hints := send_hints(coalesce(v_lines, '{}'), p_notify);
      return next;
      return;
    end if;
  end if;
  -- 1. Find the run, and 2. lock it. A run that continued as new stands for the last run of its chain, also if it is gone.
  v_target := array(
    select case when p_run[k.i] is not null then p_run[k.i] else
             (select s.run_id from run_starts s where s.namespace = p_namespace[k.i] and s.id = p_id[k.i]
               order by s.nth desc limit 1) end
      from generate_subscripts(p_message, 1) k(i) order by k.i);
  for v_round in 1..2 loop
    -- Each run is locked once for all of its messages: they are delivered in order, or all are busy.
    select array_agg(p.i::int), array_agg(k.run_id), array_agg(k.place), array_agg(k.status), array_agg(k.held_by),
           array_agg(k.continued_as), array_agg(k.closed), array_agg(k.delivered), array_agg(k.consumed),
           array_agg(k.epoch),
           array_agg(k.free and p_hold_run[p.i] = k.run_id and p_hold_epoch[p.i] = k.epoch and p_namespace[p.i] = v_home)
      into l_i, l_run, l_row, l_status, l_held, l_next, l_closed, l_delivered, l_consumed, l_epoch, l_take
      from (select g.positions, r.run_id, r.ctid as place, r.status, r.held_by, r.continued_as, r.ended_at is not null as closed,
                   r.delivered, r.consumed, r.epoch, r.held_by is null and r.status <> 'parked' and not r.suspect
                     and coalesce((r.waiting_for::text[])[1], '') not like 'queue:%#05' as free
              from (select t.run_id, array_agg(t.i) as positions from unnest(v_target) with ordinality as t(run_id, i)
                     where t.i <> all (v_refused) group by t.run_id) g
              join runs r on r.run_id = g.run_id
               for no key update of r skip locked) k
     cross join lateral unnest(k.positions) as p(i);
    exit when v_round = 2
           or coalesce(cardinality(l_i), 0) + cardinality(v_refused) = cardinality(p_message)
              and not exists (select 1 from unnest(l_i, l_next) n(i, run_id) where n.run_id is not null and not is_result(p_kind[n.i]));
    v_target := array(
      select case when is_result(p_kind[t.i]) then t.run_id else coalesce((select x.run_id from run_starts s
                         join run_starts x on x.namespace = s.namespace and x.id = s.id and coalesce(x.chain_id, x.run_id) = coalesce(s.chain_id, s.run_id)
                        where s.run_id = t.run_id order by x.nth desc limit 1),
                       newest_of_chain(t.run_id, p_namespace[t.i]), t.run_id) end
        from unnest(v_target) with ordinality as t(run_id, i) order by t.i);
  end loop;
  v_now := now_ms();
  -- 3. Judge, number and write.
  with known as materialized (
    select l.i, l.run_id, s.chain_id, l.place, l.held_by, l.status, l.delivered, l.consumed, l.closed, l.take,
           -- The run that it continued as was purged. (Not "exists", here and below: that may be planned as a scan of the whole table.)
           l.next is not null and not is_result(p_kind[l.i])
             and (select 1 from runs n where n.run_id = l.next limit 1) is null as gone,
           is_run_end(p_kind[l.i]) as run_end,
           -- Nobody would read it, or its sender may have been answered long ago, and others have changed the run since.
           p_kind[l.i] in ('pause', 'resume', 'note') and l.status = 'parked' as unread,
           p_epoch[l.i] is not null and (p_epoch[l.i] <> l.epoch or p_run[l.i] is distinct from l.run_id) as moved,
           -- A run id alone gives no access to a run of another namespace.
           s.namespace <> p_namespace[l.i] as foreign_run,
           row_number() over (partition by s.chain_id, p_message[l.i], is_run_end(p_kind[l.i]), s.namespace <> p_namespace[l.i] order by l.i) as copy,
           (select 1 from inbox x where x.chain_id = s.chain_id and hashtext(x.message_id) = hashtext(p_message[l.i])
              and x.message_id = p_message[l.i] limit 1) is not null as dup
      from unnest(l_i, l_run, l_row, l_status, l_held, l_next, l_closed, l_delivered, l_consumed, l_epoch, l_take)
           as l(i, run_id, place, status, held_by, next, closed, delivered, consumed, epoch, take)
     cross join lateral (select coalesce(b.chain_id, b.run_id) as chain_id, b.namespace from run_starts b where b.run_id = l.run_id limit 1) s
  ), ranked as materialized (
    select k.*, row_number() over (partition by k.run_id, k.closed or not k.run_end and (k.dup or k.copy > 1) or k.foreign_run or k.unread or k.moved order by k.i) as rank
      from known k
  ), judged as materialized (
    select r.*, case when r.gone or r.foreign_run then 'not_found'
                     when not r.run_end and (r.dup or r.copy > 1) then 'duplicate'
                     when r.status = 'continued' and not is_result(p_kind[r.i]) then 'busy'
                     when r.closed then 'closed'
                     when r.unread then 'parked'
                     when r.moved then 'moved'
                     when p_kind[r.i] in ('signal', 'update') and r.delivered - r.consumed + r.rank > p_inbox_max then 'full'
                     else 'delivered' end as outcome
      from ranked r
  ), numbered as materialized (
    -- Both only of those that are delivered; one of them may take the run for all.
    select j.*, case when j.outcome = 'delivered' then
               j.delivered + row_number() over (partition by j.run_id, j.outcome = 'delivered' order by j.i) end as number,
           case when j.outcome = 'delivered' then
               coalesce(bool_or(j.take) over (partition by j.run_id, j.outcome = 'delivered'), false) end as taken
      from judged j
  ), counted as (
    update runs r set delivered = r.delivered + c.n,
        -- A signal does not start a run before its start time; a cancel does not wait for that time.
        available_at = case when c.taken then null
                            when r.held_by is null and r.status <> 'parked' and (r.started_at is not null or c.cancel)
                            then least(r.available_at, v_now) else r.available_at end,
        epoch = r.epoch + c.taken::int,
        held_by = case when c.taken then p_hold_by else r.held_by end,
        claim_id = case when c.taken then p_claim else r.claim_id end,
        alone = r.alone and not c.taken,
        waiting_for = case when not c.taken then r.waiting_for end,
        started_at = case when c.taken then coalesce(r.started_at, greatest(v_now, r.created_at)) else r.started_at end,
        status = case when c.taken and r.status <> 'compensating' then 'running' else r.status end
      from (select d.place, d.taken, count(*)::int as n, bool_or(p_kind[d.i] = 'cancel') as cancel
              from numbered d where d.number is not null group by d.place, d.taken) c
     where r.ctid = c.place returning r.lane_id, r.available_at
  ), inserted as (
    insert into inbox (run_id, chain_id, number, kind, name, message_id, payload, at)
    select d.run_id, case when not d.run_end then d.chain_id end, d.number, p_kind[d.i], p_name[d.i], p_message[d.i], p_payload[d.i],
           v_now from numbered d where d.number is not null
  ), addressed as (
    insert into replies (run_id, number, reply_to)
    select d.run_id, d.number, p_reply_to[d.i] from numbered d
     where d.number is not null and p_reply_to[d.i] is not null and p_kind[d.i] = 'update'
  )
  select array_agg(j.i), array_agg(j.outcome), array_agg(j.run_id), array_agg(j.status),
         array_agg(case when j.taken then j.number end),
         (select hint_lines('i', array_agg(d.held_by::text), array_agg(d.run_id)) from
           (select distinct n.run_id, n.held_by from numbered n where n.number is not null and n.held_by is not null) d),
         (select array_agg(distinct E'd\t' || n.namespace || E'\t' || n.queue)
            from (select distinct c.lane_id from counted c where c.available_at <= v_now) c join lanes n using (lane_id))
    into v_i, v_outcome, v_run, v_status, v_number, v_lines, v_due from numbered j;
  if cardinality(p_reply_to) > 0 then
    update runs r set awaited = true, involved = true where r.involved is null and r.run_id = any (array(
      select j.run_id from unnest(v_i, v_outcome, v_run) as j(i, outcome, run_id)
       where j.outcome = 'delivered' and p_kind[j.i] = 'update' and p_reply_to[j.i] is not null));
  end if;
  if p_note_type is not null then
    for v_cancel in
      select distinct on (j.run_id) j.i, j.run_id from unnest(v_i, v_outcome, v_run, v_status) as j(i, outcome, run_id, status)
        join runs r on r.run_id = j.run_id
       where j.outcome = 'delivered' and p_kind[j.i] = 'cancel' and j.status = 'parked' and r.parked_by = 'paused'
       order by j.run_id, j.i
    loop
      v_due := v_due || resume_parked(v_cancel.run_id, p_note_type, p_notes[v_cancel.i], v_now, v_now);
    end loop;
  end if;
  return query
    select j.i, j.outcome, case when j.outcome <> 'not_found' then j.run_id end,
           case when j.outcome <> 'not_found' then j.status end, null::text, j.number, case when j.number is not null then v_now end
      from unnest(v_i, v_outcome, v_run, v_status, v_number) as j(i, outcome, run_id, status, number);
  -- The others: no such run, or another transaction has it locked.
  if coalesce(cardinality(v_i), 0) < cardinality(p_message) then
    return query
      select t.i::int, case when t.i = any (v_refused) then 'not_allowed' when r.run_id is null then 'not_found' else 'busy' end,
             r.run_id, r.status, null::text, null::int, null::bigint
        from unnest(v_target, p_namespace) with ordinality as t(run_id, namespace, i)
        left join (runs r join lanes l using (lane_id))
          on r.run_id = t.run_id and l.namespace = t.namespace and t.i <> all (v_refused)
       where v_i is null or t.i <> all (v_i);
  end if;
  return query select 0, 'hints', null::uuid, null::run_status, send_hints(coalesce(v_lines, '{}') || v_due, p_notify),
    null::int, null::bigint;
end $$;

create function read_inbox(p_namespace text[], p_run uuid[], p_after int[])
returns table (run_id uuid, number int, kind text, name text, message_id text, payload bytea, at bigint)
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  return query
    select m.run_id, m.number, m.kind, m.name, m.message_id, m.payload, m.at
      from unnest(p_namespace, p_run, p_after) with ordinality as a(namespace, run_id, after, i)
      join run_starts s on s.run_id = a.run_id and s.namespace = a.namespace
      join inbox m on m.run_id = a.run_id and m.number > a.after order by a.i, m.number;
end $$;

create function read_histories(p_namespace text[], p_run uuid[], p_after int[], p_limit int)
returns table (i int, seq int, type smallint, op text, at bigint, payload bytea, meta bytea)
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  return query
    select a.i::int, e.seq, e.type, e.op, e.at, e.payload, e.meta
      from unnest(p_namespace, p_run, p_after) with ordinality as a(namespace, run_id, after, i)
      join runs r on r.run_id = a.run_id
      join lanes l on l.lane_id = r.lane_id and l.namespace = a.namespace
     cross join lateral (${eventsAfter("a.after", "p_limit")}) e
     order by a.i, e.seq;
end $$;
`;
