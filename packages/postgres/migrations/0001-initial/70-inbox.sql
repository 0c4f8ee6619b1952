-- Which run a reference means: the run of that run id, or the newest run of that id.
create function run_of(p_run uuid, p_namespace text, p_id text) returns uuid language sql stable as $$
  select case when p_run is not null then p_run else
    (select s.run_id from run_starts s where s.namespace = p_namespace and s.id = p_id order by s.created_at desc limit 1) end $$;

-- Puts messages into inboxes. The row lock on the run orders deliveries: numbers and duplicates are looked at behind it,
-- with a new snapshot. Nothing waits: a run that a stranger has locked, or that continued just now, is busy.
create function deliver_messages(
  p_run uuid[], p_namespace text[], p_id text[], p_kind text[], p_name text[], p_message text[], p_payload bytea[],
  p_inbox_max int, p_notify boolean)
returns table (i int, outcome text, run_id uuid, status run_status, hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare v_target uuid[]; v_locked uuid[]; v_now bigint; v_lines text[]; v_i int[]; v_outcome text[]; v_run uuid[];
begin
  -- 1. Which run is meant: the last one of its chain.
  select array_agg(coalesce(last.run_id, t.run_id) order by t.i) into v_target
    from (select k.i, run_of(p_run[k.i], p_namespace[k.i], p_id[k.i]) as run_id
            from generate_subscripts(p_message, 1) k(i)) t
    left join runs r on r.run_id = t.run_id
    left join run_starts s on s.run_id = t.run_id and r.continued_as is not null
    left join lateral (select x.run_id from run_starts x
                        where x.namespace = s.namespace and x.id = s.id and x.chain_id = s.chain_id
                        order by x.created_at desc limit 1) last on true;
  -- 2. Lock them.
  v_locked := array(select r.run_id from runs r where r.run_id = any (v_target) for no key update skip locked);
  v_now := now_ms();
  -- 3. Judge, number and write.
  with known as materialized (
    select t.i::int, r.run_id, s.chain_id, r.held_by, r.status, r.delivered, r.consumed, r.ended_at is not null as closed,
           -- Where it went on was purged.
           r.continued_as is not null and not exists (select 1 from runs n where n.run_id = r.continued_as) as gone,
           row_number() over (partition by s.chain_id, p_message[t.i] order by t.i) as copy,
           exists (select 1 from inbox x where x.chain_id = s.chain_id and x.message_id = p_message[t.i]) as dup
      from unnest(v_target) with ordinality as t(run_id, i)
      join runs r on r.run_id = t.run_id join run_starts s on s.run_id = t.run_id
     where t.run_id = any (v_locked)
  ), ranked as materialized (
    select k.*, row_number() over (partition by k.run_id, k.closed or k.dup or k.copy > 1 order by k.i) as rank
      from known k
  ), judged as materialized (
    select r.*, case when r.gone then 'not_found' when r.dup or r.copy > 1 then 'duplicate' when r.status = 'continued' then 'busy'
                     when r.closed then 'closed'
                     when p_kind[r.i] <> 'cancel' and r.delivered - r.consumed + r.rank > p_inbox_max then 'full'
                     else 'delivered' end as outcome
      from ranked r
  ), numbered as materialized (
    select j.*, j.delivered + row_number() over (partition by j.run_id order by j.i) as number
      from judged j where j.outcome = 'delivered'
  ), counted as (
    update runs r set delivered = r.delivered + c.n,
        -- A signal does not start a run before its time; a cancel does not wait for it.
        available_at = case when r.held_by is null and r.status <> 'parked' and (r.started_at is not null or c.cancel)
                            then least(r.available_at, v_now) else r.available_at end
      from (select d.run_id, count(*)::int as n, bool_or(p_kind[d.i] = 'cancel') as cancel
              from numbered d group by d.run_id) c
     where r.run_id = c.run_id
  ), inserted as (
    insert into inbox (run_id, chain_id, number, kind, name, message_id, payload, at)
    select d.run_id, d.chain_id, d.number, p_kind[d.i], p_name[d.i], p_message[d.i], p_payload[d.i], v_now from numbered d
  )
  select array_agg(j.i), array_agg(j.outcome), array_agg(j.run_id),
         (select hint_lines('i', array_agg(d.held_by::text), array_agg(d.run_id)) from
           (select distinct n.run_id, n.held_by from numbered n) d)
    into v_i, v_outcome, v_run, v_lines from judged j;
  v_lines := coalesce(v_lines, '{}') || due_lines(
    array(select t.run_id from unnest(v_outcome, v_run) as t(outcome, run_id) where t.outcome = 'delivered'), v_now);
  return query
    select t.i::int, coalesce(j.outcome, case when r.run_id is null then 'not_found' else 'busy' end),
           case when j.outcome is distinct from 'not_found' then r.run_id end,
           case when j.outcome is distinct from 'not_found' then r.status end, null::text
      from unnest(v_target) with ordinality as t(run_id, i)
      left join unnest(v_i, v_outcome) as j(i, outcome) on j.i = t.i
      left join runs r on r.run_id = t.run_id
    union all
    select 0, 'hints', null::uuid, null::run_status, send_hints(v_lines, p_notify);
end $$;

create function read_inbox(p_run uuid[], p_after int[])
returns table (run_id uuid, number int, kind text, name text, message_id text, payload bytea, at bigint)
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
begin
  return query
    select m.run_id, m.number, m.kind, m.name, m.message_id, m.payload, m.at
      from unnest(p_run, p_after) with ordinality as a(run_id, after, i)
      join inbox m on m.run_id = a.run_id and m.number > a.after order by a.i, m.number;
end $$;

create function read_histories(p_run uuid[], p_after int[], p_limit int)
returns table (i int, seq int, type smallint, op text, at bigint, payload bytea, meta bytea)
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
begin
  return query
    select a.i::int, e.seq, e.type, e.op, e.at, e.payload, e.meta
      from unnest(p_run, p_after) with ordinality as a(run_id, after, i)
      join runs r on r.run_id = a.run_id
     cross join lateral (select * from events x where x.run_no = r.run_no and x.seq > a.after
                          order by x.seq limit p_limit) e
     order by a.i, e.seq;
end $$;
