export const SEGMENTS = String.raw`
-- Packed copies of closed stretches of long histories. They are a cache: the events stay. The row that ends at 0
-- is no segment: its sum says how many times segments of the run were dropped. By their ends, to be found behind a seq at once.
create table segments (
  run_no    bigint not null,
  sum       bigint not null,
  first_seq int not null,
  last_seq  int not null,
  bytes     bytea not null,
  primary key (run_no, last_seq));
-- They are deflated already.
alter table segments alter column bytes set storage external;

create function read_segments(p_namespace text[], p_run uuid[], p_after int[], p_limit int)
returns table (i int, first_seq int, last_seq int, sum bigint, bytes bytea)
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  return query
    select a.i::int, s.first_seq, s.last_seq, s.sum, s.bytes
      from unnest(p_namespace, p_run, p_after) with ordinality as a(namespace, run_id, after, i)
      join runs r on r.run_id = a.run_id
      join lanes l on l.lane_id = r.lane_id and l.namespace = a.namespace
     cross join lateral (
       (select * from segments x where x.run_no = r.run_no and x.last_seq = 0)
       union all
       (select * from segments x where x.run_no = r.run_no and x.last_seq > greatest(a.after, 0)
         order by x.last_seq limit p_limit)) s
     order by a.i, s.last_seq;
end $$;

-- The lock keeps drops and purges away until this is committed, and does not stand in the way of commits.
create function add_segments_if_current(
  p_namespace text, p_run uuid, p_edition bigint, p_first int[], p_last int[], p_sum bigint[], p_bytes bytea[], out o_added boolean)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_no bigint; v_events int; v_last int;
begin
  o_added := false;
  select r.run_no, r.event_count into v_no, v_events from runs r
    join lanes l on l.lane_id = r.lane_id and l.namespace = p_namespace
   where r.run_id = p_run for key share of r;
  if not found or cardinality(p_last) = 0 then return; end if;
  if p_edition <> coalesce((select s.sum from segments s where s.run_no = v_no and s.last_seq = 0), 0) then return; end if;
  v_last := coalesce((select max(s.last_seq) from segments s where s.run_no = v_no), 0);
  for k in 1 .. cardinality(p_last) loop
    if p_first[k] <> v_last + 1 or p_last[k] < p_first[k] then return; end if;
    v_last := p_last[k];
  end loop;
  -- The row of a run that is held may not know of all of its events.
  if v_last > v_events and (select 1 from events e where e.run_no = v_no and e.seq = v_last limit 1) is null then return; end if;
  -- Somebody else may be adding the same at this moment.
  insert into segments (run_no, first_seq, last_seq, sum, bytes)
  select v_no, n.first_seq, n.last_seq, n.sum, n.bytes
    from unnest(p_first, p_last, p_sum, p_bytes) as n(first_seq, last_seq, sum, bytes)
      on conflict (run_no, last_seq) do nothing;
  o_added := true;
end $$;

-- For one that rewrites payloads of events: in the same transaction, before it reads them.
create function drop_segments(p_namespace text[], p_run uuid[])
returns table (i int, edition bigint)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_no bigint[]; v_i int[];
begin
  select array_agg(k.run_no), array_agg(k.i) into v_no, v_i
    from (select r.run_no, a.i::int as i
            from unnest(p_namespace, p_run) with ordinality as a(namespace, run_id, i)
            join runs r on r.run_id = a.run_id
            join lanes l on l.lane_id = r.lane_id and l.namespace = a.namespace
           order by r.run_id for update of r) k;
  delete from segments s where s.run_no = any (v_no) and s.last_seq > 0;
  return query
    with raised as (
      insert into segments as s (run_no, first_seq, last_seq, sum, bytes) select k.run_no, 0, 0, 1, '' from unnest(v_no) as k(run_no)
          on conflict (run_no, last_seq) do update set sum = s.sum + 1
      returning s.run_no, s.sum)
    select k.i, d.sum from unnest(v_no, v_i) as k(run_no, i) join raised d on d.run_no = k.run_no;
end $$;
`;
