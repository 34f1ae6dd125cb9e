import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readSettings } from "./env.ts";

const fault = (code: string, subject: string) =>
  expect.objectContaining({ code, context: expect.objectContaining({ subject }) });

describe("the environment", () => {
  it("needs nothing", () => {
    expect(readSettings({})).toMatchObject({
      port: 7140,
      host: "127.0.0.1",
      publicUrl: null,
      trustProxy: false,
      reach: { allowPrivate: true, allowHttp: false },
      withPages: true,
      firstAdmin: null,
      metrics: { audience: "everyone", token: null },
    });
  });

  it.each([
    ["TIDEMARK_PORT", "http"],
    ["TIDEMARK_PORT", "70000"],
    ["TIDEMARK_PUBLIC_URL", "tidemark.example.com"],
    ["TIDEMARK_PUBLIC_URL", "https://example.com/tidemark"],
    ["TIDEMARK_TRUST_PROXY", "maybe"],
    ["TIDEMARK_LOG", "loud"],
    ["TIDEMARK_METRICS", "some"],
    ["TIDEMARK_METRICS_TOKEN", "short"],
    ["TIDEMARK_ALLOW_ENDPOINTS", "10.0.0.0/99"],
    ["TIDEMARK_ALLOW_ENDPOINTS", "https://minio.lan/path"],
    ["TIDEMARK_ALLOW_ENDPOINTS", "*"],
    ["TIDEMARK_ENDPOINT_PORTS", "443,http"],
    ["TIDEMARK_REALLOCATE_PER_HOUR", "some"],
    ["TIDEMARK_REALLOCATE_COOLDOWN", "a while"],
    ["TIDEMARK_REALLOCATE_QUORUM", "0.5"],
    ["TIDEMARK_DATA", '"/data'],
    ["TIDEMARK_ADMIN_EMAIL", "a@example.com'"],
    ["TIDEMARK_METRICS_TOKEN", '"0123456789abcdef"'],
    ["TIDEMARK_METRICS_TOKEN", "0123456789\u200babcdef"],
    ["TIDEMARK_METRICS_TOKEN_FILE", "'/run/secrets/token"],
    ["TIDEMARK_BACKUP_TO", "TIDEMARK_BACKUP_TO=/backups"],
    ["TIDEMARK_SALAD_ORGANIZATIONS", "export acme"],
    ["TIDEMARK_ALLOW_ENDPOINTS", '"10.0.0.0/8'],
    ["TIDEMARK_DATABASE_URL", "db.example.com"],
    ["TIDEMARK_DATABASE_URL", "file:/data/hub.db"],
    ["TIDEMARK_DATABASE_URL", "mysql://db.example.com/tidemark"],
    ["TIDEMARK_DATABASE_URL", "postgres://db.example.com"],
    ["TIDEMARK_DATABASE_DIRECT_URL", "postgres://db.example.com/tidemark"],
    ["TIDEMARK_DATABASE_CONNECTIONS", "20"],
  ])("refuses %s=%s and names the variable", (name, value) => {
    expect(() => readSettings({ [name]: value })).toThrow(fault("BAD_INPUT", name));
  });

  describe("of PostgreSQL", () => {
    const TIDEMARK_DATABASE_URL = "postgres://hub:planted-word@db.example.com:5432/tidemark?sslmode=require";

    it("is one address, or two with a pooler before it, and a number of connections", () => {
      const url = TIDEMARK_DATABASE_URL;
      expect(readSettings({}).postgres).toBeNull();
      expect(readSettings({ TIDEMARK_DATABASE_URL }).postgres).toEqual({ url, directUrl: url, connections: 10 });
      const direct = "postgresql://hub@direct.example.com/tidemark";
      const TIDEMARK_DATABASE_CONNECTIONS = "25";
      expect(
        readSettings({ TIDEMARK_DATABASE_URL, TIDEMARK_DATABASE_DIRECT_URL: direct, TIDEMARK_DATABASE_CONNECTIONS })
          .postgres,
      ).toEqual({ url, directUrl: direct, connections: 25 });
    });

    it("makes backups by the clock, as with SQLite", () => {
      const every = (more: Record<string, string>) =>
        readSettings({ TIDEMARK_DATABASE_URL, ...more }).upkeep.backupEveryMs;
      expect(every({})).toBe(86_400_000);
      expect(every({ TIDEMARK_BACKUP_EVERY: "12h" })).toBe(43_200_000);
      expect(every({ TIDEMARK_BACKUP_EVERY: "off" })).toBeNull();
    });

    it.each(["1", "201", "many", "2.5"])("refuses %s connections", (TIDEMARK_DATABASE_CONNECTIONS) => {
      expect(() => readSettings({ TIDEMARK_DATABASE_URL, TIDEMARK_DATABASE_CONNECTIONS })).toThrow(
        fault("BAD_INPUT", "TIDEMARK_DATABASE_CONNECTIONS"),
      );
    });

    it("shows its password nowhere: not when it is refused, and not among the settings", () => {
      const wrong = TIDEMARK_DATABASE_URL.replace("postgres:", "postgress:");
      expect(() => readSettings({ TIDEMARK_DATABASE_URL: wrong })).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining("planted-word") as string }) as Error,
      );
      expect(JSON.stringify(readSettings({ TIDEMARK_DATABASE_URL }).described)).not.toContain("planted-word");
    });
  });

  it("reads how often machines may be given back", () => {
    expect(readSettings({}).reallocation).toEqual({
      perHour: 10,
      cooldownMs: 300_000,
      quorumShare: 0.5,
      quorumLeast: 2,
      excludeMs: 172_800_000,
      goodForMs: 86_400_000,
    });
    const set = {
      TIDEMARK_REALLOCATE_PER_HOUR: "0",
      TIDEMARK_REALLOCATE_QUORUM: "60%",
      TIDEMARK_REALLOCATE_EXCLUDE: "2d",
      TIDEMARK_PROBE_GOOD_FOR: "0",
    };
    expect(readSettings(set).reallocation).toMatchObject({
      perHour: 0,
      quorumShare: 0.6,
      excludeMs: 172_800_000,
      goodForMs: 0,
    });
  });

  it("keeps who did what for two years, or as many days as it is told", () => {
    expect(readSettings({}).auditKeptMs).toBe(730 * 86_400_000);
    expect(readSettings({ TIDEMARK_KEEP_AUDIT: "90d" }).auditKeptMs).toBe(90 * 86_400_000);
    expect(() => readSettings({ TIDEMARK_KEEP_AUDIT: "0d" })).toThrow(/TIDEMARK_KEEP_AUDIT.*number of days/);
  });

  it("allows private stores only on loopback, or when it is said", () => {
    expect(readSettings({ TIDEMARK_HOST: "0.0.0.0" }).reach.allowPrivate).toBe(false);
    expect(readSettings({ TIDEMARK_HOST: "0.0.0.0", TIDEMARK_ALLOW_PRIVATE_ENDPOINTS: "1" }).reach.allowPrivate).toBe(
      true,
    );
  });

  it("takes the first admin's password from a file", () => {
    const folder = mkdtempSync(join(tmpdir(), "tidemark-env-"));
    const file = join(folder, "password");
    writeFileSync(file, "a password in a file\n");
    const variables = { TIDEMARK_ADMIN_EMAIL: "Root@Example.com", TIDEMARK_ADMIN_PASSWORD_FILE: file };
    expect(readSettings(variables).firstAdmin).toEqual({ email: "root@example.com", password: "a password in a file" });
    rmSync(folder, { recursive: true });
    expect(() => readSettings(variables)).toThrow(fault("READ_FAILED", file));
  });

  it("wants both halves of the first admin", () => {
    expect(() => readSettings({ TIDEMARK_ADMIN_EMAIL: "root@example.com" })).toThrow(
      fault("BAD_INPUT", "TIDEMARK_ADMIN_PASSWORD"),
    );
    expect(() => readSettings({ TIDEMARK_ADMIN_PASSWORD: "a password of length" })).toThrow(
      fault("BAD_INPUT", "TIDEMARK_ADMIN_EMAIL"),
    );
  });
});
