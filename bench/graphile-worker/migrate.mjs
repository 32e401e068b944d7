// Installs graphile-worker's schema.
import { runMigrations } from "graphile-worker";

await runMigrations({ preset: { worker: { connectionString: `postgres:///${process.env.PGDATABASE}` } } });
process.exit(0);
