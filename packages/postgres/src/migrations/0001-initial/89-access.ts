export const ACCESS = String.raw`
-- Who may use the store through a server.
create table tenants (
  name         text collate "C" primary key,
  display_name text not null,
  description  text not null,
  enabled      boolean not null,
  settings     text not null,
  created_at   bigint not null,
  updated_at   bigint not null);

create table access_keys (
  id           text collate "C" primary key,
  hash         text not null,
  name         text not null,
  role         text not null,
  namespace    text collate "C" not null,
  expires_at   bigint,
  created_at   bigint not null,
  last_used_at bigint,
  revoked_at   bigint);

create table audit (
  number    bigint generated always as identity primary key,
  event_id  uuid not null unique,
  at        bigint not null,
  actor     text not null,
  action    text not null,
  namespace text collate "C" not null,
  subject   text not null,
  outcome   text not null,
  address   text not null);
create index audit_namespace on audit (namespace, number);
create index audit_at on audit (at);

create function create_tenant(p_name text, p_display_name text, p_description text, out o_created boolean)
language plpgsql volatile security definer set search_path from current as $$
begin
  insert into tenants values (p_name, p_display_name, p_description, true, '{}', now_ms(), now_ms()) on conflict do nothing;
  o_created := found;
end $$;

-- What is null stays.
create function change_tenant(p_name text, p_display_name text, p_description text, p_enabled boolean, p_settings text) returns void
language plpgsql volatile security definer set search_path from current as $$
begin
  update tenants t set display_name = coalesce(p_display_name, t.display_name), description = coalesce(p_description, t.description),
         enabled = coalesce(p_enabled, t.enabled), settings = coalesce(p_settings, t.settings),
         updated_at = greatest(t.created_at, now_ms())
   where t.name = p_name;
end $$;

create function add_access_key(
  p_id text, p_hash text, p_name text, p_role text, p_namespace text, p_expires_at bigint, out o_added boolean)
language plpgsql volatile security definer set search_path from current as $$
begin
  insert into access_keys (id, hash, name, role, namespace, expires_at, created_at)
  values (p_id, p_hash, p_name, p_role, p_namespace, p_expires_at, now_ms()) on conflict do nothing;
  o_added := exists (select 1 from access_keys k where k.id = p_id and k.hash = p_hash);
end $$;

create function revoke_access_key(p_id text) returns void
language plpgsql volatile security definer set search_path from current as $$
begin
  update access_keys k set revoked_at = now_ms() where k.id = p_id and k.revoked_at is null;
end $$;

create function note_key_use(p_id text, p_every bigint) returns void
language plpgsql volatile security definer set search_path from current as $$
begin
  update access_keys k set last_used_at = now_ms()
   where k.id = p_id and (k.last_used_at is null or k.last_used_at <= now_ms() - p_every);
end $$;

create function add_audit(
  p_event_id uuid[], p_actor text[], p_action text[], p_namespace text[], p_subject text[], p_outcome text[], p_address text[])
returns void language plpgsql volatile security definer set search_path from current as $$
begin
  insert into audit (event_id, at, actor, action, namespace, subject, outcome, address)
  select e.event_id, now_ms(), e.actor, e.action, e.namespace, e.subject, e.outcome, e.address
    from unnest(p_event_id, p_actor, p_action, p_namespace, p_subject, p_outcome, p_address) with ordinality
      as e(event_id, actor, action, namespace, subject, outcome, address, n)
   order by e.n
      on conflict do nothing;
end $$;

create function forget_audit(p_kept bigint, p_limit int, out o_more boolean)
language plpgsql volatile security definer set search_path from current as $$
declare
  v_before bigint := now_ms() - p_kept;
begin
  delete from audit a where a.number in (select o.number from audit o where o.at < v_before order by o.at limit p_limit);
  o_more := exists (select 1 from audit a where a.at < v_before);
end $$;

create function forget_access_keys(p_kept bigint, p_limit int, out o_more boolean)
language plpgsql volatile security definer set search_path from current as $$
declare
  v_before bigint := now_ms() - p_kept;
begin
  delete from access_keys k
   where k.id in (select o.id from access_keys o where least(o.expires_at, o.revoked_at) < v_before limit p_limit);
  o_more := exists (select 1 from access_keys k where least(k.expires_at, k.revoked_at) < v_before);
end $$;
`;
