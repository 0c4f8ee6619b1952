// Starts the server of the tests as on a machine without PostgreSQL, and writes its version and the user that it runs as:
//   node ask-version.mjs <folder for programs from the registry>
import { statSync } from "node:fs";
import process from "node:process";
import pg from "pg";
import { postgresSources } from "../postgres-binaries.mjs";
import { startServers } from "../test-servers.mjs";

const folders = () => process.env.PATH.split(":");
const servers = await startServers({ sources: postgresSources({ folders, cache: process.argv[2] }) });
try {
  const client = new pg.Client({ connectionString: servers.postgresUrl });
  await client.connect();
  const { rows } = await client.query(
    "select current_setting('server_version') as version, current_setting('data_directory') as data",
  );
  await client.end();
  const [{ version, data }] = rows;
  process.stdout.write(`${JSON.stringify({ version, uid: statSync(data).uid })}\n`);
} finally {
  servers.stop();
}
