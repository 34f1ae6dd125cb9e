import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { attemptId, filePath } from "#protocol/base/names.ts";
import { openBeside } from "#prisma/open.ts";
import { checksumTables, type TableChecksum } from "#prisma/copy/rows.ts";
import { presentTables } from "#prisma/copy/tables.ts";
import { openFile } from "#prisma/snapshot.ts";
import { fault } from "#server/testing/match-fault.ts";
import { addTestNode, callAs, joinGroup } from "#server/testing/open-test-hub.ts";
import { createSigner } from "#server/signer/answer.ts";
import { checkMasterKey } from "#server/signer/check-master-key.ts";
import { announce, makeSafe, manifestOf, newAttempt, run, upload } from "#server/testing/stage-checkpoint.ts";
import { claim, node, other, pairForEach, profileId, test } from "#server/testing/pair-for-each.ts";
import { backUp, type BackupOptions } from "./back-up.ts";
import { mayDelete } from "#server/core/retention/may-delete.ts";
import { openPlace, type DatabaseAt } from "./open-place.ts";
import { restoreBackup } from "./restore.ts";
import { settleHistory } from "#server/core/record/settle-history.ts";

pairForEach();

// On both databases; a backup of PostgreSQL is a file of SQLite too.

const at = () => ({ dataFolder: test.folder, postgres: test.hub.settings.postgres });

/** Returns the content of the present database: tables with their hashes. */
async function contentOf(where: DatabaseAt): Promise<TableChecksum[]> {
  const tables = await presentTables();
  return (await openPlace(where, () => undefined)).read((source) => checksumTables(source, tables));
}

const take = (changes: Partial<BackupOptions> = {}) =>
  backUp({
    ...at(),
    to: join(test.folder, "backups"),
    keep: null,
    compress: "none",
    now: Date.now(),
    ...changes,
  });

/** Stops the hub, restores, and starts another one on the same folder. */
async function restoreFrom(file: string) {
  await test.stop();
  const restored = await restoreBackup({ from: file, ...at(), now: Date.now() });
  await test.start();
  return restored;
}

describe("a backup", () => {
  it("is one whole file for its owner only, taken while the hub writes, and seen in the status", async () => {
    await claim(node);
    await makeSafe(test.hub, node, { epoch: 1, step: 10 });
    const writing = Array.from({ length: 40 }, (_, index) =>
      test.hub.db.audit.create({ data: { at: new Date(), actor: "a", action: "b", subject: String(index) } }),
    );
    const [backup] = await Promise.all([take(), ...writing]);
    expect((await stat(backup.file)).mode & 0o777).toBe(0o600);
    const client = await openFile(backup.file);
    expect((await client.execute("PRAGMA integrity_check")).rows[0]?.[0]).toBe("ok");
    expect((await client.execute(`SELECT count(*) FROM "Checkpoint" WHERE state = 'complete'`)).rows[0]?.[0]).toBe(1);
    client.close();
    const { lastBackup } = await callAs(test.hub, "viewer").upkeep.status();
    expect(lastBackup).toMatchObject({ file: backup.file, sizeBytes: backup.sizeBytes, fault: null });
    expect(await readdir(join(test.folder, "backups"))).toHaveLength(1);
  });

  it("keeps the newest ones and leaves other files of the folder alone", async () => {
    const to = join(test.folder, "backups");
    await mkdir(to);
    await writeFile(join(to, "notes.txt"), "mine");
    const made = [];
    for (let index = 0; index < 4; index++) made.push(await take({ keep: 2, now: 1_700_000_000_000 + index }));
    const names = (await readdir(to)).toSorted((a, b) => (a < b ? -1 : 1));
    expect(names.map((name) => join(to, name))).toEqual([join(to, "notes.txt"), made[2]?.file, made[3]?.file]);
  });

  it("opens no bucket without the master key, and says so", async () => {
    const { file } = await take();
    expect((await readFile(file)).includes(Buffer.from("test-secret-key"))).toBe(false);
    const folder = join(test.folder, "elsewhere");
    await restoreBackup({ from: file, dataFolder: folder, postgres: null, now: Date.now() });
    const { db, close } = await openBeside(join(folder, "hub.db"));
    const without = createSigner({ secret: null, dataFolder: folder });
    await expect(checkMasterKey(db, without, 0)).rejects.toMatchObject({ code: "MASTER_KEY_MISSING" });
    const wrong = createSigner({ secret: randomBytes(32).toString("hex"), dataFolder: folder });
    await expect(checkMasterKey(db, wrong, 0)).rejects.toMatchObject({ code: "MASTER_KEY_WRONG" });
    await checkMasterKey(db, test.signer, 0);
    await close();
  });
});

describe("a restore", () => {
  it("is refused while the hub runs", async () => {
    const { file } = await take();
    await expect(restoreBackup({ from: file, ...at(), now: 1 })).rejects.toMatchObject({
      code: "FOLDER_IN_USE",
    });
  });

  it.each(["cut short", "of other bytes", "another database", "cut gzip"])(
    "of a file that is %s changes nothing",
    async (kind) => {
      const backup = await take({ compress: kind === "cut gzip" ? "gzip" : "none" });
      const bytes = await readFile(backup.file);
      const file = join(test.folder, kind === "cut gzip" ? "bad.db.gz" : "bad.db");
      if (kind === "another database") {
        const client = await openFile(file);
        await client.execute("CREATE TABLE a (x INTEGER)");
        client.close();
      } else if (kind === "of other bytes") {
        bytes.fill(0x5a, bytes.length / 2, bytes.length / 2 + 20_000);
        await writeFile(file, bytes);
      } else await writeFile(file, bytes.subarray(0, bytes.length / 2));
      await test.stop();
      const before = await contentOf(at());
      await expect(restoreBackup({ from: file, ...at(), now: 1 })).rejects.toMatchObject({
        code: "BACKUP_DAMAGED",
      });
      expect(await contentOf(at())).toEqual(before);
      expect((await readdir(test.folder)).filter((name) => name.includes("unfinished"))).toEqual([]);
      await test.start();
    },
  );

  it("brings the checkpoints back that came after the backup, and lets their writer go on", async () => {
    await claim(node);
    await makeSafe(test.hub, node, { epoch: 1, step: 10 });
    const { file } = await take({ compress: "gzip" });
    await makeSafe(test.hub, node, { epoch: 1, step: 20 });
    expect(await claim(other)).toMatchObject({ epoch: 2 });
    const late = await makeSafe(test.hub, other, { epoch: 2, step: 30 });

    const restored = await restoreFrom(file);
    expect(restored).toMatchObject({ runs: 1, checkpoints: 1 });
    expect(await readdir(test.folder)).toContain(restored.keptAt?.split("/").at(-1));
    // Nobody writes before the bucket was asked.
    await expect(announce(test.hub, other, { epoch: 2, step: 40 })).rejects.toEqual(fault("HISTORY_UNREAD"));
    expect(await settleHistory(test.hub)).toMatchObject({ runs: 1, epochs: 1, checkpoints: 2, refused: 0, missing: 0 });
    const view = await callAs(test.hub, "viewer").runs.get({ run });
    expect(view.checkpoints.map(({ step, state }) => [step, state])).toEqual([
      [30, "complete"],
      [20, "complete"],
      [10, "complete"],
    ]);
    const row = await test.hub.db.checkpoint.findUniqueOrThrow({ where: { id: late.checkpointId } });
    expect(row.manifestSha256).toMatch(/^[0-9a-f]{64}$/);
    // The node of the highest claim goes on with its epoch; the one before it is shut out.
    await makeSafe(test.hub, other, { epoch: 2, step: 40 });
    await expect(announce(test.hub, node, { epoch: 1, step: 50 })).rejects.toEqual(fault("EPOCH_OVER"));
    expect(await claim(node)).toMatchObject({ epoch: 1_002, parent: { epoch: 2, step: 40 } });
  });

  it("lets a node claim before the bucket was read, well above what it names", async () => {
    await claim(node);
    const { file } = await take();
    const third = await addTestNode(test.hub, profileId, "gpu-3");
    await joinGroup(test.hub, third);
    await claim(third);
    await makeSafe(test.hub, third, { epoch: 2, step: 30 });
    await restoreFrom(file);
    // It enrolled after the backup: the hub does not know its credential.
    expect(await test.hub.db.node.count({ where: { id: third.nodeId } })).toBe(0);
    expect(await claim(other)).toMatchObject({ epoch: 1_002, newest: { step: 30 } });
    const gone = test.hub.live.nodes.get(third.nodeId);
    expect(gone).toMatchObject({ name: "gpu-3" });
    expect(gone?.leftAt).not.toBeNull();
  });

  it("starts runs that the backup did not know above what the bucket has of them", async () => {
    const { file } = await take();
    await claim(node);
    await makeSafe(test.hub, node, { epoch: 1, step: 30 });
    await restoreFrom(file);
    expect(await claim(other)).toMatchObject({ epoch: 1_001, newest: { step: 30 } });
  });

  it("keeps every deletion off until the buckets were read and a person said so", async () => {
    const { file } = await take();
    await restoreFrom(file);
    const admin = callAs(test.hub, "admin");
    expect(await mayDelete(test.hub)).toBe(false);
    await expect(admin.upkeep.runJanitor({ mode: "delete" })).rejects.toEqual(fault("DELETIONS_OFF"));
    await expect(admin.upkeep.confirmDeletions()).rejects.toEqual(fault("HISTORY_UNREAD"));
    await settleHistory(test.hub);
    expect(await mayDelete(test.hub)).toBe(false);
    expect(await admin.upkeep.status()).toMatchObject({ mayDelete: false, doubt: { kind: "restored" } });
    expect(await admin.upkeep.confirmDeletions()).toMatchObject({ mayDelete: true, doubt: null });
    expect(await mayDelete(test.hub)).toBe(true);
    const confirmed = await test.hub.db.audit.findFirst({ where: { action: "confirm deletions" } });
    expect(confirmed?.actor).toBe("admin@example.com");
  });

  it("does not take a failed listing for a bucket without history", async () => {
    await claim(node);
    const { file } = await take();
    await restoreFrom(file);
    const profile = await test.hub.db.profile.findFirstOrThrow();
    await test.hub.db.profile.update({ where: { id: profile.id }, data: { endpoint: "http://127.0.0.1:9" } });
    await expect(settleHistory(test.hub)).rejects.toMatchObject({ code: "LINK_DOWN" });
    expect(await test.hub.db.run.findFirst()).toMatchObject({ highestSeen: null });
    expect((await test.hub.db.doubt.findFirst())?.listedAt).toBeNull();
  });

  it("signs everybody out", async () => {
    const at = new Date();
    await test.hub.db.user.create({
      data: { id: "user-one", email: "a@b.c", role: "admin", passwordHash: "x", createdAt: at },
    });
    await test.hub.db.session.create({
      data: {
        id: "session-1",
        hash: "h",
        userId: "user-one",
        createdAt: at,
        seenAt: at,
        expiresAt: new Date(Date.now() + 1e9),
      },
    });
    const { file } = await take();
    await restoreFrom(file);
    expect([await test.hub.db.user.count(), await test.hub.db.session.count()]).toEqual([1, 0]);
  });

  it("takes up an upload that was committed after the backup under another attempt", async () => {
    await claim(node);
    const first = await announce(test.hub, node, { epoch: 1, step: 10 });
    const { file } = await take();
    const again = { ...first, attempt: attemptId.parse(newAttempt()) };
    await callAs(test.hub, node.caller).node.announce({
      checkpointId: again.checkpointId,
      run,
      writerEpoch: 1,
      step: 10,
      attempt: again.attempt,
      framework: null,
      capturedAt: 1,
      files: again.files.map(({ path, text }) => ({ path: filePath.parse(path), sizeBytes: Buffer.byteLength(text) })),
    });
    const etags = await upload(test.hub, node, again);
    await callAs(test.hub, node.caller).node.commit({ manifest: manifestOf(test.hub, node, { staged: again, etags }) });
    await restoreFrom(file);
    await settleHistory(test.hub);
    const row = await test.hub.db.checkpoint.findUniqueOrThrow({ where: { id: first.checkpointId } });
    expect(row).toMatchObject({ state: "complete", attempt: again.attempt });
  });
});
