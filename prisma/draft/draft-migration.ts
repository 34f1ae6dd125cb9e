import { bindMigrationAwareSqlAdapterFactory } from "@prisma/driver-adapter-utils";
import { PrismaLibSql } from "@prisma/adapter-libsql";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { SqlClient } from "../connection.ts";
import { readMigrations } from "../migrate.ts";

/**
 * Writes the SQL that leads from the committed migrations to schema.prisma. Works offline: the schema engine runs as
 * WebAssembly and replays the migrations in an in-memory database. The drift test expects no SQL to be missing.
 */

interface Engine {
  diff: (params: {
    from: object;
    to: object;
    script: boolean;
    exitCode: boolean | null;
    filters: { externalTables: string[]; externalEnums: string[] };
  }) => Promise<{ stdout: string | null }>;
}
interface EngineModule {
  __wbg_set_wasm: (exports: WebAssembly.Exports) => void;
  SchemaEngine: { new: (options: object, log: () => void, adapter: object) => Promise<Engine> };
}

/** Runs scripts as scripts: the engine sends them through the call for single statements, which runs only the first one. */
class ScriptAdapter extends PrismaLibSql {
  override createClient(config: { url: string }): SqlClient {
    const client = super.createClient(config);
    const execute = client.execute.bind(client);
    return Object.assign(client, {
      execute: async (statement: { sql: string }) => {
        if (!/;\s*\S/.test(statement.sql)) return execute(statement);
        await client.executeMultiple(statement.sql);
        return execute("SELECT 1 WHERE 0");
      },
    });
  }
}

async function loadEngine(schema: string): Promise<Engine> {
  const glueName = "@prisma/schema-engine-wasm/schema_engine_bg";
  const glue = (await import(glueName)) as EngineModule & Record<string, WebAssembly.ImportValue>;
  const file = join(createRequire(import.meta.url).resolve(glueName), "..", "schema_engine_bg.wasm");
  const module = await WebAssembly.compile(await readFile(file));
  const imports: WebAssembly.Imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    const wanted = glue[name];
    if (wanted !== undefined) (imports[from] ??= {})[name] = wanted;
  }
  const instance = await WebAssembly.instantiate(module, imports);
  glue.__wbg_set_wasm(instance.exports);
  const start = instance.exports["__wbindgen_start"];
  if (typeof start === "function") start();
  const adapter = bindMigrationAwareSqlAdapterFactory(new ScriptAdapter({ url: ":memory:" }));
  return glue.SchemaEngine.new({ datamodels: [["schema.prisma", schema]] }, () => undefined, adapter);
}

/** Returns the missing SQL; `null` when the committed migrations already give the schema. */
export async function draftMigration(
  schemaPath = join(import.meta.dirname, "../schema.prisma"),
): Promise<string | null> {
  const schema = await readFile(schemaPath, "utf8");
  const engine = await loadEngine(schema);
  const migrations = await readMigrations();
  const { stdout } = await engine.diff({
    from: {
      tag: "migrations",
      baseDir: join(import.meta.dirname, "../migrations"),
      lockfile: { path: "migration_lock.toml", content: 'provider = "sqlite"\n' },
      shadowDbInitScript: "",
      migrationDirectories: migrations.map(({ name, sql }) => ({
        path: name,
        migrationFile: { path: "migration.sql", content: { tag: "ok", value: sql } },
      })),
    },
    to: { tag: "schemaDatamodel", files: [{ path: "schema.prisma", content: schema }] },
    script: true,
    exitCode: null,
    filters: { externalTables: [], externalEnums: [] },
  });
  return stdout === null || /^\s*(-- This is an empty migration\.)?\s*$/.test(stdout) ? null : stdout;
}
