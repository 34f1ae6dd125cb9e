import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeSettings } from "./describe-settings.ts";

const rowOf = (name: string, variables: Record<string, string>) =>
  describeSettings(variables).find((row) => row.name === name);

test("a setting says its default, its name, and where its value comes from", () => {
  expect(rowOf("TIDEMARK_PORT", {})).toMatchObject({ usual: "7140", value: null, source: "default" });
  expect(rowOf("TIDEMARK_PORT", { TIDEMARK_PORT: " 8080 " })).toMatchObject({ value: "8080", source: "environment" });
  expect(rowOf("TIDEMARK_PORT", { TIDEMARK_PORT: " " })).toMatchObject({ source: "default" });
});

test("no secret is told, only that it is set and how", () => {
  const variables = {
    TIDEMARK_ADMIN_PASSWORD: "hunter2-hunter2",
    TIDEMARK_METRICS_TOKEN_FILE: "/run/secrets/metrics",
    TIDEMARK_SECRET: "the-master-key-of-this-hub-000000",
  };
  expect(rowOf("TIDEMARK_ADMIN_PASSWORD", variables)).toMatchObject({ value: null, source: "environment" });
  expect(rowOf("TIDEMARK_METRICS_TOKEN", variables)).toMatchObject({ value: null, source: "file" });
  expect(rowOf("TIDEMARK_SECRET", variables)).toMatchObject({ value: null, source: "signer" });
  expect(JSON.stringify(describeSettings(variables))).not.toMatch(/hunter2|the-master-key/);
});

test("every variable that the hub reads is among them", () => {
  const root = join(import.meta.dirname, "../..");
  const sources = globSync("**/*.ts", { cwd: root }).filter((file) => !file.endsWith(".test.ts"));
  expect(sources.length).toBeGreaterThan(100);
  const read = new Set(
    sources.flatMap((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(/"(TIDEMARK_[A-Z_]+)"/g)].map(([, name = ""]) =>
        name.replace(/_FILE$/, ""),
      ),
    ),
  );
  const told = new Set(describeSettings({}).map(({ name }) => name));
  expect([...read].filter((name) => !told.has(name))).toEqual([]);
});
