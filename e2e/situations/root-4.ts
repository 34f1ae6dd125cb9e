import type { Root } from "./situation.ts";

export const root = {
  number: 4,
  title: "Nothing is left out in silence",
  rows: [
    {
      situation: "A pipe as source: `mkfifo`, `cp <(command) s3://…`",
      outcome: "Its bytes are sent, as from `-`; the whole key has to be given.",
      test: "e2e/process/nothing-in-silence.test.ts > a pipe, a device and a file of the system are read as stdin is",
    },
    {
      situation: "What a shell's `<(command)` writes, as source",
      outcome: "It is sent to its end, as from `-`.",
      test: "e2e/process/nothing-in-silence.test.ts > what a shell's <(command) writes is sent, and with --dry-run neither it nor stdin nor an object is read",
    },
    {
      situation: "`--dry-run` with stdin, a pipe, or an object that goes to stdout",
      outcome: "Nothing is read or sent; the copy is said.",
      test: "e2e/process/nothing-in-silence.test.ts > what a shell's <(command) writes is sent, and with --dry-run neither it nor stdin nor an object is read",
    },
    {
      situation: "A file that is removed between the listing and its turn (rotated logs)",
      outcome: "It is named as removed; all others are sent. Exit code 8.",
      test: "worker/transfer/upload/send-source.test.ts > a file that was removed after it was listed is told as that, not as a fault of the disk",
    },
    {
      situation: "A device, or a file of the system that says it has 0 bytes (`/proc/…`), as source",
      outcome: "Its bytes are sent, as from `-`.",
      test: "e2e/process/nothing-in-silence.test.ts > a pipe, a device and a file of the system are read as stdin is",
    },
    {
      situation: "Linked folders, empty folders, sockets, pipes and devices below a source of `cp`, `sync` or `check`",
      outcome:
        "They are counted and the first of each kind named: in the last sentence (`verified, without 1 linked folder (a)`), in `leftOut` of `--json`, and with `--dry-run`.",
      test: "e2e/process/nothing-in-silence.test.ts > what is no file is in the last sentence and in the last line, and nothing is verified without that clause",
    },
    {
      situation: "`sync --delete` where a folder of SRC is a link, or may not be read",
      outcome: "Nothing below it is removed from DST, and that is said; what SRC certainly lacks is removed.",
      test: "e2e/process/nothing-in-silence.test.ts > what lies behind a folder that was not entered is not removed, the rest of what is too much is",
    },
    {
      situation: "`sync --delete` where a folder of SRC is empty, as one is on which nothing is mounted",
      outcome: "What DST has below it stays until `--delete-all`, and that is said.",
      test: "e2e/process/nothing-in-silence.test.ts > what lies behind a folder that was not entered is not removed, the rest of what is too much is",
    },
    {
      situation: "`sync --delete` where DST has a linked folder, a pipe, a socket, or a name that is not UTF-8",
      outcome:
        "They stay. The last sentence and `leftOut` of `--json` (with `side: dst`) count and name them; a name that cannot be read is listed as failed, exit code 8.",
      test: "e2e/process/nothing-in-silence.test.ts > sync --delete says what of DST it did not look into, in the last sentence and the last line: it stays",
    },
    {
      situation: "`sync --delete` where DST is a bucket with a key that is not valid UTF-8",
      outcome: "The key stays and is listed as failed, exit code 8; what SRC certainly lacks is removed.",
      test: "e2e/process/odd-names.test.ts > sync --delete names a key of DST that is not valid UTF-8, with code 8; it stays, the rest of what is too much is removed",
    },
    {
      situation: "`sync --delete` with an SRC that is empty altogether",
      outcome: "It is refused until `--delete-all`.",
      test: "e2e/process/verbs-sync-check.test.ts > --delete is refused when SRC is empty, could not be read, or too much would go",
    },
    {
      situation: "A file of the same size that came with an older date (`cp -p`, `tar x`)",
      outcome: "It is sent: the time of its last change counts, not its own date alone.",
      test: "e2e/process/nothing-in-silence.test.ts > a file of the same size that came with an older date is sent",
    },
    {
      situation: "A file that was changed in place and given its old date back",
      outcome: "It is sent.",
      test: "e2e/process/verbs-sync-check.test.ts > a change that kept size and date is found, because the file says when it was last changed",
    },
    {
      situation: "A node whose clock is behind the store's",
      outcome: "What was changed since is sent: the difference is known from the store's answers and is allowed for.",
      test: "e2e/process/nothing-in-silence.test.ts > a change is sent although the store's clock is before the node's, so that its objects are dated later",
    },
    {
      situation:
        "`sync --delete` onto a folder of DST that has to become a file, or a file that has to become a folder",
      outcome:
        "What SRC lacks there is removed first, then the file is fetched. Without --delete it is named. Exit code 8.",
      test: "e2e/process/verbs-sync-check.test.ts > with --delete a folder of DST becomes a file, and a file a folder, where SRC has them so",
    },
    {
      situation: "A log that grows while it is sent (`*.log`, `*.jsonl`, `*.out`, `*.err`, event files)",
      outcome:
        "What it had when it was listed is sent, the last sentence says so, and `--delete` of others still happens.",
      test: "e2e/process/nothing-in-silence.test.ts > a log that grows while it is sent is sent as it was, it is said, and --delete goes on",
    },
    {
      situation: "A log that is cut or replaced while it is sent (rotation)",
      outcome: "It is named, `--delete` of others still happens, and the next copy takes it as it is then.",
      test: "e2e/process/nothing-in-silence.test.ts > a log that is cut while it is sent is named, and --delete of others goes on",
    },
    {
      situation:
        "`sync --delete` where DST has a key that no file can have (`mark/` with content), or one that is not UTF-8",
      outcome: "It stays, and is named.",
      test: "e2e/process/nothing-in-silence.test.ts > what of DST no file can have is named by sync --delete, which lets it stay",
    },
    {
      situation: "`sync` from a place of a bucket where nothing is (a misspelled prefix)",
      outcome: "It says that SRC holds no file.",
      test: "e2e/process/nothing-in-silence.test.ts > what of DST no file can have is named by sync --delete, which lets it stay",
    },
    {
      situation: "A link to a file that is gone, or in a circle, as source of `cp` and `sync`",
      outcome:
        "It is named as that link; all others are sent. Exit code 8. `--delete` keeps what DST has in its place.",
      test: "e2e/process/nothing-in-silence.test.ts > a link that leads nowhere, or in a circle, is named as that, and the others are sent",
    },
    {
      situation: "A glob of --include or --exclude that fits nothing of SRC as it was meant (a typing error)",
      outcome: "`cp` and `sync` say that the filters leave nothing of SRC; `cp` ends with 3.",
      test: "e2e/process/nothing-in-silence.test.ts > filters that leave nothing of SRC are said by cp and sync, and it is not said that SRC is not there",
    },
  ],
} satisfies Root;
