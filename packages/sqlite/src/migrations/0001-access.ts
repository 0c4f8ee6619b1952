/** Who may use the store through a server. */
export const ACCESS = `
create table holdfast_tenants (
  name         text primary key,
  display_name text not null,
  description  text not null,
  enabled      integer not null,
  settings     text not null,
  created_at   integer not null,
  updated_at   integer not null
) strict, without rowid;

create table holdfast_access_keys (
  id           text primary key,
  hash         text not null,
  name         text not null,
  role         text not null,
  namespace    text not null,
  expires_at   integer,
  created_at   integer not null,
  last_used_at integer,
  revoked_at   integer
) strict, without rowid;

create table holdfast_audit (
  number    integer primary key autoincrement,
  event_id  text not null unique,
  at        integer not null,
  actor     text not null,
  action    text not null,
  namespace text not null,
  subject   text not null,
  outcome   text not null,
  address   text not null
) strict;
create index holdfast_audit_namespace on holdfast_audit (namespace, number);
create index holdfast_audit_at on holdfast_audit (at);
`;
