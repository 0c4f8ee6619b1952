export const PRIVILEGES = String.raw`
-- The functions run with the rights of the role that migrated. Only roles with an explicit grant may call them (docs/postgresql.md).
do $$ begin execute format('revoke execute on all functions in schema %I from public', current_schema()); end $$;
`;
