import type { Root } from "./situation.ts";

export const root = {
  number: 9,
  title: "Hub and pages",
  rows: [
    {
      situation: "A bucket's CORS rule lacks `ExposeHeaders`: an upload from the page",
      outcome: "It needs none: the hub asks the store what arrived, so no byte goes twice.",
      test: "app/_browser-transfers/engine/upload-file.test.ts > needs no header that a CORS rule could hide: no part goes twice where it exposes none",
    },
    {
      situation: "The same: a download to the page",
      outcome: "One sentence and the way to the CORS rule after the first answer; nothing is fetched a second time.",
      test: "app/_browser-transfers/engine/download-file.test.ts > says that the CORS rule is at fault where it hides the range of an answer, and asks no second time",
    },
    {
      situation: "A chosen file changes on disk while it is uploaded",
      outcome: "It becomes no object, and the page says that the file is not the one that was chosen.",
      test: "e2e/browser/14-browser-transfers.spec.ts > a file that changed on disk while its upload was paused becomes no object, and it is said",
    },
    {
      situation: "A hub with an https address is opened over http, or by another name",
      outcome: "The page says which address is right, with a link: signing in works only there.",
      test: "e2e/browser/06-invitation.spec.ts > a hub that was told its address says on a page that was opened elsewhere where signing in works",
    },
    {
      situation: "The disk of the hub fills, and has room again",
      outcome:
        "Every write is refused with a sentence that names the disk, reading goes on, nothing acknowledged is lost, and no restart is needed.",
      test: "server/http/disk-full.test.ts > a full disk is named, refuses no reading, and is left without a restart",
    },
    {
      situation: "A hub starts while its disk is full",
      outcome: "It names the disk and does not start; with room it starts, and nothing has changed.",
      test: "e2e/process/hub-full-disk.test.ts > a hub whose disk is full at its start says so, and starts when there is room",
    },
    {
      situation: "Names with terminal escapes in the log of the hub",
      outcome: "Each line is JSON whose escapes no terminal obeys.",
      test: "server/platform/log.test.ts > escapes what controls a terminal or reorders its text, and stays readable as JSON",
    },
    {
      situation: "A commit of the hub finds no room",
      outcome: "The transaction is taken back; the next one begins.",
      test: "prisma/connection.test.ts > a commit that finds no room leaves no transaction open",
    },
    {
      situation: "A program holds a snapshot of the hub's database for long",
      outcome:
        "The length of the log is in /metrics, a log line names the reason above 256 MiB, and the file shrinks afterwards.",
      test: "server/platform/watch-database.test.ts > a log that is not folded in is said once, and once when it is short again",
    },
    {
      situation: "The same: who is told",
      outcome:
        "The alert *Disk of the hub* fires with the length of the log and goes to the channels of its rule; it is over when the log is short. It fires for a nearly full disk too.",
      test: "server/features/alerts/alerts.test.ts > the disk of the hub and the log of its database, until there is room and the log is short",
    },
    {
      situation: "The same, and the program ends",
      outcome: "The log is cut to 64 MiB by the writes that follow.",
      test: "prisma/connection.test.ts > a log that grew while a reader held a snapshot is cut to its limit once the reader is gone",
    },
    {
      situation: "The hub is started with arguments (`--port 8080`)",
      outcome: "It says that it takes none and by which variables it is set, and does not start.",
      test: "e2e/process/clear-sentences.test.ts > with arguments says that it takes none, and how it is set",
    },
    {
      situation: "A chart over the days on which clocks are put on and back",
      outcome: "Each day has one tick, at its midnight.",
      test: "app/_ui/charts/chart-scale.test.ts > %s: each day has one tick, at its midnight",
    },
    {
      situation: "A day whose midnight the clocks skip (Chile, Egypt)",
      outcome: "Its tick is at its first hour.",
      test: "app/_ui/charts/chart-scale.test.ts > a day without a midnight (%s) has its tick at its first hour",
    },
    {
      situation: "The growth of a bucket by day, over the change of clocks",
      outcome: "The sums are of days of UTC, all of 24 hours, and each has its date.",
      test: "app/_buckets/usage-words.test.ts > where clocks change (%s) each day of the growth has a date of its own",
    },
    {
      situation: "The trash is emptied in a bucket that keeps versions, or has an object lock",
      outcome:
        "The question says before that nothing is freed there until a rule of the bucket, or the end of its lock, removes them.",
      test: "server/features/retention/find-versions.test.ts > tells whether the bucket of a run keeps what is deleted",
    },
    {
      situation: "The same, after it was emptied, and in the preview of a retention policy",
      outcome: "The sentence that reports the deletion names the buckets in which nothing is freed.",
      test: "app/_retention/empty-dialog.test.ts > the sentence after the trash was emptied says where nothing is freed, unless nothing is deleted",
    },
    {
      situation: "`rm` and `sync --delete` in a bucket that keeps versions, or has an object lock",
      outcome:
        "The last sentence and `keepsVersions` of `--json` say that nothing is freed, after one request for all keys. Where the store does not tell, nothing is said, and `keepsVersions` is null.",
      test: "e2e/process/odd-names.test.ts > a deletion in a bucket that keeps old versions says that nothing is freed, after one request about it",
    },
    {
      situation: "The janitor of the hub removes leftovers in such a bucket",
      outcome:
        "The event, the audit and `hub janitor --delete` say that nothing is freed, after one request for the bucket.",
      test: "server/features/maintenance/janitor.test.ts > says that nothing is freed where the bucket keeps what it removes as old versions",
    },
    {
      situation: "*Usage and cost* of such a bucket",
      outcome: "The panel says that deleted bytes may still lie there and cost, and that its numbers do not have them.",
      test: "app/_buckets/usage-panel.test.tsx > the panel of a bucket whose versioning is %j says that old versions are not in its numbers: %j",
    },
    {
      situation: "`--keep` of a node without a hub deletes from such a bucket",
      outcome: "The first deletion says that nothing is freed; `--json` says it with each.",
      test: "e2e/process/standalone-keep.test.ts > rules are applied after commits, never to the newest, and what they remove is gone a day later",
    },
    {
      situation: "The same where versioning was suspended",
      outcome: "The question says that what was written before that frees nothing.",
      test: "storage/s3/delete-many.test.ts > a bucket whose versioning is %j keeps what is deleted: %j",
    },
    {
      situation: "The key loses a permission, or the bucket goes away, and a person mends it at the store",
      outcome:
        "The upload is tried again each minute and becomes safe without a word of anybody; the failure is news once.",
      test: "worker/upload/uploader.test.ts > what the store refused is tried again by itself once a person can have mended it",
    },
    {
      situation: "The data folder of a hub is a file, lies below one, or is a link to nothing",
      outcome: "It names which of these, and does not start.",
      test: "e2e/process/hub-odd-data.test.ts > a hub says that %s, and does not start",
    },
    {
      situation: "hub.db is damaged, is no database, or is a folder",
      outcome:
        "The hub names the file and how to restore a backup or rebuild it from the buckets, and does not start; while it runs, each call is refused with the same words.",
      test: "e2e/process/hub-odd-data.test.ts > a hub says that %s, and does not start",
    },
    {
      situation: "The data folder of a hub, or a backup, has a `%`, `#` or `?` in its path",
      outcome: "It is used as it is written: database, lock, backup and restore lie there.",
      test: "prisma/file-url.test.ts > a database lies in the folder %s, whatever its name means in a URL",
    },
  ],
} satisfies Root;
