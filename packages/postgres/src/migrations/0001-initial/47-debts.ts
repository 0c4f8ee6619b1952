export const DEBTS = String.raw`
-- Children whose chain has not ended, and that their parent's policy has not reached. p_all: not only those that it has given up.
create function children_to_close(p_parent uuid, p_all boolean) returns table (namespace text, run_id uuid, policy text, open_run_id uuid)
language sql stable as $$
  select c.namespace, c.run_id, c.policy, k.run_id from children c
    left join lateral (select r.run_id, r.ended_at, r.continued_as from runs r where r.run_id = c.run_id limit 1) f on true
   -- Only if it has continued, or is gone, is the last run of its chain looked up: the newest of the id, if it is of that chain.
   cross join lateral (
     select o.run_id
       from (select case when f.run_id is not null and f.ended_at is null then f.run_id
                         when f.run_id is null or f.continued_as is not null then (
                           select n.run_id from (select s.run_id, coalesce(s.chain_id, s.run_id) as chain_id from run_starts s
                                                  where s.namespace = c.namespace and s.id = c.id order by s.nth desc limit 1) n
                            where n.chain_id = c.run_id and (select r.ended_at is null from runs r where r.run_id = n.run_id)) end
             as run_id offset 0) o
      where o.run_id is not null limit 1) k
   where c.parent_run_id = p_parent and not c.closed and (p_all or c.given_up) $$;

-- Updates from ops of other runs that were answered or, if the run is closed, never will be. What it has handed on belongs to its
-- successor.
create function replies_to_tell(p_run uuid)
returns table (number int, message_id text, name text, reply_to text, seq int, error bytea, run_no bigint, consumed int)
language sql stable as $$
  select p.number, m.message_id, m.name, p.reply_to, p.seq, p.error, r.run_no, r.consumed
    from runs r join replies p on p.run_id = r.run_id join inbox m on m.run_id = p.run_id and m.number = p.number
   where r.run_id = p_run and p.reply_to is not null
     and (p.seq is not null or p.error is not null or r.ended_at is not null)
     and (r.continued_as is null or p.number <= r.consumed) $$;

-- Children of a run that are to be listed, the newest first. Null: from the beginning, and all.
create function children_page(p_parent uuid, p_namespace text, p_created_at bigint, p_run uuid, p_limit int)
returns table (namespace text, id text, run_id uuid, created_at bigint)
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
begin
  return query
    select c.namespace, c.id, c.run_id, c.created_at from children c
     where c.parent_run_id = p_parent and c.created_at is not null and c.namespace = p_namespace
       and (c.created_at, c.run_id) < (coalesce(p_created_at, 9223372036854775807),
                                       coalesce(p_run, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
     order by c.created_at desc, c.run_id desc limit p_limit;
end $$;

-- The rows of the runs are locked. p_marked: they say already that they owe something.
create function owe(p_run uuid[], p_kind text, p_now bigint, p_marked boolean default false) returns void
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if cardinality(p_run) = 0 then return; end if;
  insert into debts (run_id, kind, at) select k.run_id, p_kind, p_now from unnest(p_run) k(run_id) on conflict do nothing;
  if not p_marked then update runs r set owes = true where r.run_id = any (p_run) and r.owes is null; end if;
end $$;

-- The same for senders of updates. p_run: runs that have ended, in whatever way.
create function owe_replies(p_run uuid[], p_now bigint) returns void
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform owe(array(select k.run_id from unnest(p_run) k(run_id)
                     where (select 1 from replies_to_tell(k.run_id) limit 1) is not null), 'reply', p_now);
end $$;

-- Every end of a run that has to do with others, however it came about. p_awaited: runs that somebody may wait for, or that have
-- requested locks or have to do with a queue with limits, and that have
-- not continued. p_parents: runs that have children, and get no more of them. p_marked: the awaited ones say already that they owe
-- something. Returns hints.
create function owe_ends(p_awaited uuid[], p_parents uuid[], p_now bigint, p_marked boolean default false) returns text[]
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off as $$
declare v_told uuid[]; v_lines text[];
begin
  if cardinality(p_awaited) > 0 then
    v_told := array(
      select a.run_id from unnest(p_awaited) a(run_id)
       where (select s.parent_op is not null or (select 1 from watches w where w.chain_id = coalesce(s.chain_id, s.run_id) limit 1) is not null
                from run_starts s where s.run_id = a.run_id));
    perform owe(v_told, 'result', p_now, p_marked);
    perform owe_replies(p_awaited, p_now);
    perform give_locks_back(p_awaited, p_now);
    v_lines := give_places_back(p_awaited, array_fill(0, array[cardinality(p_awaited)]));
    if cardinality(v_told) < cardinality(p_awaited) then
      -- Their watchers were told of an earlier end.
      update runs r set owes = null
       where r.run_id = any (p_awaited) and r.owes and (select 1 from debts d where d.run_id = r.run_id limit 1) is null;
    end if;
  end if;
  if cardinality(p_parents) > 0 then
    perform owe(array(
      select p.run_id from unnest(p_parents) p(run_id)
       where (select 1 from children_to_close(p.run_id, true) limit 1) is not null), 'close', p_now);
  end if;
  return v_lines;
end $$;

-- The runs of a flush do not want these children any more. The lock excludes starts: a child that is not there never will be.
create function give_up_children(
  p_run uuid[], v_no bigint[], w_namespace text[], p_by int[], x_i int[], x_run uuid[], p_now bigint)
returns void language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform 1 from (select distinct p_run[x.i] as run_id from unnest(x_i) x(i) where v_no[x.i] is not null) k
    join runs r on r.run_id = k.run_id for update of r;
  insert into children as c (parent_run_id, run_id, namespace, id, policy, closed, given_up)
  select distinct p_run[x.i], x.run_id, w_namespace[p_by[x.i]], '', 'abandon', true, true
    from unnest(x_i, x_run) as x(i, run_id) where v_no[x.i] is not null and x.run_id is not null
  on conflict (parent_run_id, run_id) do update set given_up = true where not c.given_up;
  perform owe(array(
    select k.run_id from (select distinct p_run[x.i] as run_id from unnest(x_i) x(i) where v_no[x.i] is not null) k
     where (select 1 from children_to_close(k.run_id, false) limit 1) is not null), 'close', p_now);
end $$;

-- Of these runs, whose rows are locked, those of which no child is being started: a start has the row of its parent locked (refuse_children).
create function unless_starting(p_run uuid[]) returns uuid[]
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off as $$
declare v_parents uuid[] := array(select r.run_id from runs r where r.run_id = any (p_run) and r.has_children);
begin
  if cardinality(v_parents) = 0 then return p_run; end if;
  return array(select k.run_id from unnest(p_run) k(run_id) where k.run_id <> all (v_parents))
         || array(select r.run_id from runs r where r.run_id = any (v_parents) for update skip locked);
end $$;

-- Locks what a flush needs besides runs and tasks: that no children of runs that end or give some up are being started, and those
-- that are given up. A run of which another transaction has locked something is out. The rows of all of them are locked.
create function unless_children_start(p_ok boolean[], p_run uuid[], p_kind "char"[], x_i int[], x_run uuid[])
returns boolean[] language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off as $$
declare v_need int[]; v_alone uuid[]; v_rows tid[]; v_busy int[];
begin
  v_need := array(select a.i from unnest(p_kind) with ordinality as a(kind, i)
                   where p_ok[a.i] and (a.kind in ('e', 'u', 'c') or a.i = any (x_i)));
  v_alone := unless_starting(array(select p_run[n.i] from unnest(v_need) n(i)));
  v_rows := array(select c.ctid from unnest(x_i, x_run) as x(i, run_id)
                    join children c on c.parent_run_id = p_run[x.i] and c.run_id = x.run_id
                   where p_ok[x.i] for no key update of c skip locked);
  v_busy := array(
    select n.i from unnest(v_need) n(i) where p_run[n.i] <> all (v_alone)
    union all
    select x.i from unnest(x_i, x_run) as x(i, run_id) join children c on c.parent_run_id = p_run[x.i] and c.run_id = x.run_id
     where p_ok[x.i] and c.ctid <> all (v_rows));
  return array(select k.ok and k.i <> all (v_busy) from unnest(p_ok) with ordinality as k(ok, i) order by k.i);
end $$;

-- Debts with everything that paying them takes, the oldest first. p_run is null: of all runs. 500: DEBT_PAGE.
create function read_debts(p_namespace text[], p_run uuid[], p_limit int)
returns table (debt_no bigint, kind text, namespace text, run_id uuid, id text, chain_id uuid, workflow text, version text,
  status run_status, output bytea, error bytea, compensation text, event_count int, parent json, watchers json, children json, replies json)
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan
-- Without sorts, children are read in the order of their page.
set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare v_no bigint[]; v_run uuid[]; v_kind text[];
begin
  if p_run is null then
    select array_agg(d.debt_no), array_agg(d.run_id), array_agg(d.kind) into v_no, v_run, v_kind
      from (select * from debts d order by d.debt_no limit p_limit) d;
  else
    select array_agg(k.debt_no), array_agg(k.run_id), array_agg(k.kind) into v_no, v_run, v_kind
      from (select distinct d.debt_no, d.run_id, d.kind from unnest(p_namespace, p_run) as a(namespace, run_id)
              join debts d on d.run_id = a.run_id
             where (select s.namespace from run_starts s where s.run_id = a.run_id) = a.namespace
             order by d.debt_no limit p_limit) k;
  end if;
  return query
    select d.debt_no, d.kind, s.namespace, s.run_id, s.id, coalesce(s.chain_id, s.run_id), l.workflow, l.version, r.status, r.output, r.error,
           r.compensation, r.event_count,
           case when d.kind = 'result' and s.parent_op is not null
                then json_build_object('namespace', s.parent_namespace, 'runId', s.parent_run_id, 'op', s.parent_op) end,
           case when d.kind = 'result' then
             (select json_agg(json_build_object('namespace', w.namespace, 'runId', w.run_id, 'op', w.op))
                from (select * from watches x where x.chain_id = coalesce(s.chain_id, s.run_id) order by x.run_id, x.op limit 500) w) end,
           case when d.kind = 'close' then
             (select json_agg(json_build_object('namespace', c.namespace, 'runId', c.run_id, 'openRunId', c.open_run_id,
                                               'policy', c.policy))
                from (select * from children_to_close(s.run_id, r.ended_at is not null) x order by x.run_id limit 500) c) end,
           case when d.kind = 'reply' then
             (select json_agg(json_build_object('message_id', p.message_id, 'name', p.name, 'to', p.reply_to::json,
                       'number', p.number, 'consumed', p.consumed, 'error', encode(p.error, 'base64'), 'seq', e.seq, 'type', e.type,
                       'op', e.op, 'at', e.at, 'payload', encode(e.payload, 'base64'), 'meta', encode(e.meta, 'base64')) order by p.number)
                from (select * from replies_to_tell(s.run_id) x order by x.number limit 500) p
                left join events e on e.run_no = p.run_no and e.seq = p.seq) end
      from unnest(v_no, v_run, v_kind) as d(debt_no, run_id, kind)
      join runs r on r.run_id = d.run_id
      join run_starts s on s.run_id = d.run_id
      join lanes l on l.lane_id = r.lane_id order by d.debt_no;
end $$;

-- Notes what was paid. The row of the run keeps its next debt from being written meanwhile; debts of a run that another
-- transaction has locked stay, and are paid again.
create function pay_debts(
  p_namespace text[], p_run uuid[], p_no bigint[], w_i int[], w_run uuid[], w_op text[], c_i int[], c_run uuid[],
  r_i int[] default null, r_message text[] default null)
returns int
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off as $$
declare v_k int[]; v_rows tid[]; v_sole boolean[]; v_i int[]; v_free tid[]; v_alone tid[]; v_paid int := 0;
begin
  select array_agg(k.i), array_agg(k.place), array_agg(k.sole) into v_k, v_rows, v_sole
    from (select a.i, r.ctid as place, r.involved is null and r.has_children is null as sole
            from unnest(p_run) with ordinality as a(run_id, i)
            join runs r on r.run_id = a.run_id for no key update of r skip locked) k;
  -- Most are results for the parent alone: nothing but the debt is in the way, and nothing else is owed.
  with paid as (
    delete from debts d using unnest(v_k, v_rows, v_sole) as k(i, place, sole)
     where d.run_id = p_run[k.i] and d.kind = 'result' and d.debt_no = p_no[k.i]
       and (select s.namespace from run_starts s where s.run_id = p_run[k.i]) = p_namespace[k.i]
       and (k.sole or (select 1 from watches w where w.chain_id =
                          (select coalesce(s.chain_id, s.run_id) from run_starts s where s.run_id = p_run[k.i]) limit 1) is null)
    returning k.i, k.place, k.sole)
  select array_agg(p.i), array_agg(p.place) filter (where not p.sole), array_agg(p.place) filter (where p.sole), count(*)
    into v_i, v_free, v_alone, v_paid from paid p;
  if v_paid < cardinality(v_k) then
    v_i := array(select k.i from unnest(v_k) k(i)
                   join debts d on d.run_id = p_run[k.i] and d.debt_no = p_no[k.i]
                  where (v_i is null or k.i <> all (v_i)) and (select s.namespace from run_starts s where s.run_id = p_run[k.i]) = p_namespace[k.i]);
    v_paid := v_paid + cardinality(v_i);
    if cardinality(c_i) > 0 then
      -- A purge or a reopening may have locked some: those are listed again.
      update children c set closed = true where c.ctid = any (array(
        select x.ctid from unnest(c_i, c_run) as k(i, run_id) join children x on x.parent_run_id = p_run[k.i] and x.run_id = k.run_id
         where k.i = any (v_i) and not x.closed for no key update of x skip locked));
    end if;
    if cardinality(w_i) > 0 then
      delete from watches w using unnest(w_i, w_run, w_op) as k(i, run_id, op)
       where k.i = any (v_i) and w.chain_id = (select coalesce(s.chain_id, s.run_id) from run_starts s where s.run_id = p_run[k.i])
         and w.run_id = k.run_id and w.op = k.op;
    end if;
    if cardinality(r_i) > 0 then
      update replies p set reply_to = null
        from unnest(r_i, r_message) as k(i, message_id) join run_starts s on s.run_id = p_run[k.i]
        join inbox m on m.chain_id = coalesce(s.chain_id, s.run_id) and hashtext(m.message_id) = hashtext(k.message_id) and m.message_id = k.message_id
         and m.run_id = s.run_id
       where k.i = any (v_i) and p.run_id = m.run_id and p.number = m.number;
    end if;
    with paid as (
      delete from debts d using unnest(v_i) k(i) join runs r on r.run_id = p_run[k.i]
       where d.run_id = r.run_id and d.debt_no = p_no[k.i]
         and case d.kind
             when 'result' then (select 1 from watches w where w.chain_id =
                                   (select coalesce(s.chain_id, s.run_id) from run_starts s where s.run_id = r.run_id) limit 1) is null
             when 'close' then (select 1 from children_to_close(r.run_id, r.ended_at is not null) limit 1) is null
             when 'reply' then (select 1 from replies_to_tell(r.run_id) limit 1) is null
             when 'lock' then (select 1 from locks l where l.run_id = r.run_id and l.given_back limit 1) is null end
      returning r.ctid as place)
    select v_free || array_agg(p.place) into v_free from paid p;
  end if;
  update runs r set owes = null
   where r.ctid = any (v_free) and (select 1 from debts d where d.run_id = r.run_id limit 1) is null;
  update runs r set owes = null where r.ctid = any (v_alone);
  return v_paid;
end $$;

-- Has ops told of the ends of runs. A run that is open is locked; one that has ended needs no lock.
create function watch_runs(
  p_run uuid[], p_namespace text[], p_id text[], b_namespace text[], b_run uuid[], b_op text[])
returns table (i int, outcome text, namespace text, run_id uuid, id text, chain_id uuid, workflow text, version text,
  status run_status, output bytea, error bytea, compensation text, event_count int)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare v_target uuid[]; v_locked uuid[];
begin
  -- Of a run that continued as new, the last run of its chain.
  v_target := array(
    select case when r.continued_as is null then t.run_id else
             (select x.run_id from run_starts s
                join run_starts x on x.namespace = s.namespace and x.id = s.id and coalesce(x.chain_id, x.run_id) = coalesce(s.chain_id, s.run_id)
               where s.run_id = t.run_id order by x.nth desc limit 1) end
      from (select k.i, run_of(p_run[k.i], p_namespace[k.i], p_id[k.i]) as run_id
              from generate_subscripts(p_run, 1) k(i)) t
      left join runs r on r.run_id = t.run_id order by t.i);
  v_locked := array(select r.run_id from (select distinct t.run_id from unnest(v_target) t(run_id)) k
                      join runs r on r.run_id = k.run_id
                     where r.ended_at is null for no key update of r skip locked);
  insert into watches (chain_id, run_id, op, namespace)
  select coalesce(s.chain_id, s.run_id), b_run[k.i], b_op[k.i], b_namespace[k.i]
    from unnest(v_target) with ordinality as k(run_id, i) join run_starts s on s.run_id = k.run_id
   where k.run_id = any (v_locked) and b_run[k.i] is not null and is_allowed(p_namespace[k.i], b_namespace[k.i])
  on conflict do nothing;
  update runs r set awaited = true, involved = true
   where r.involved is null and r.run_id = any (array(
     select k.run_id from unnest(v_target) with ordinality as k(run_id, i)
      where k.run_id = any (v_locked) and is_allowed(p_namespace[k.i], b_namespace[k.i])));
  return query
    select k.i::int, case when not is_allowed(p_namespace[k.i], b_namespace[k.i]) then 'not_allowed'
                          when r.run_id is null or r.gone then 'not_found'
                          when r.run_id = any (v_locked) then 'watching'
                          when r.status = 'continued' or r.ended_at is null then 'busy' else 'ended' end,
           s.namespace, s.run_id, s.id, coalesce(s.chain_id, s.run_id), l.workflow, l.version, r.status, r.output, r.error, r.compensation, r.event_count
      from unnest(v_target) with ordinality as k(run_id, i)
      left join lateral (
        select x.*, x.continued_as is not null
                    and (select 1 from runs n where n.run_id = x.continued_as limit 1) is null as gone
          from runs x where x.run_id = k.run_id limit 1) r on true
      left join run_starts s on s.run_id = r.run_id
      left join lanes l on l.lane_id = r.lane_id;
end $$;

-- A run that is open again: nobody is told of the end that it had, and its parent's policy applies to it. Its row is locked.
create function forget_end(p_run uuid) returns void
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  delete from debts d where d.run_id = p_run and d.kind = 'result';
  update runs r set owes = null
   where r.run_id = p_run and r.owes and (select 1 from debts d where d.run_id = p_run limit 1) is null;
  update children c set closed = false where c.ctid = any (array(
    select x.ctid from run_starts s join children x on x.parent_run_id = s.parent_run_id and x.run_id = coalesce(s.chain_id, s.run_id)
     where s.run_id = p_run and x.closed and x.policy <> 'abandon' for no key update of x skip locked));
end $$;
`;
