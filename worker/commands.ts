/** The one table of commands: help, completion and docs/cli.md are made from it. */

interface CommandSpec {
  usage: string;
  /** One sentence, for the list of commands. */
  says: string;
  /** The rest, for its own help. */
  more?: string;
}

export const COMMANDS = {
  agent: {
    usage: "tidemark agent --hub URL --token TOKEN --watch DIR [--watch DIR ...]",
    says: "Keep checkpoints of this machine safe: watch folders, upload, restore when the hub asks.",
  },
  run: {
    usage: "tidemark run --hub URL --watch DIR [--watch DIR ...] -- COMMAND [ARGUMENT ...]",
    says: "Run a training program: restore its newest complete checkpoint first, keep those it writes safe, end with its exit code.",
    more: "What the program must not go on from (half-written checkpoints, those of a run that another machine has taken over) is set aside before. It finds the path of the checkpoint in TIDEMARK_RESUME_PATH and its step in TIDEMARK_RESUME_STEP, both empty when the run starts from the beginning. Signals are passed on; when the program has ended, what it left is uploaded before tidemark ends too.",
  },
  save: {
    usage: "tidemark save DIR [--run NAME] [--step N]",
    says: "Take a finished checkpoint now and make it safe: a folder or a file.",
    more: "The worker of this machine does it when one runs; otherwise this command does it alone, with --hub and --token. Ends when it is safe, with 0; with --no-wait when it is captured, after which the program may go on and overwrite it.",
  },
  restore: {
    usage: "tidemark restore RUN[@STEP] DIR",
    says: "Put the newest complete checkpoint of a run (or that of one step) at DIR, verified, all of it or nothing.",
    more: "Asks the worker of this machine, which restores the runs that it writes.",
  },
  status: {
    usage: "tidemark status",
    says: "Show what is not safe yet on this machine, how long that will take, and whether the uplink keeps up.",
    more: "Without a worker it shows the queue that waits in the state folder, and ends with 3.",
  },
  pause: {
    usage: "tidemark pause [RUN[@STEP]]",
    says: "Pause the uploads of this machine, of one run, or of one step. Those that come later wait too; captures go on.",
  },
  resume: { usage: "tidemark resume [RUN[@STEP]]", says: "Go on with uploads that were paused." },
  retry: { usage: "tidemark retry [RUN[@STEP]]", says: "Try failed uploads again." },
  cancel: {
    usage: "tidemark cancel RUN[@STEP]",
    says: "Cancel the uploads of a run that have not ended; what was captured is removed, the program's own files stay.",
  },
  cp: {
    usage: "tidemark cp SRC DST",
    says: "Copy a file or folder to s3://bucket/key, back, or from bucket to bucket: parallel, resumable, verified.",
    more: "What is there already is replaced. `cp - s3://bucket/key` sends what comes in on stdin, `cp s3://bucket/key -` writes to stdout.",
  },
  sync: {
    usage: "tidemark sync SRC DST",
    says: "Make DST hold what SRC holds: copies what is missing or differs.",
    more: "Removes nothing unless --delete is given. A file of the same size is compared by the checksum the store keeps, unless the dates say that it did not change since the last sync (an object is not older than its file; a fetched file has the date of its object).",
  },
  check: {
    usage: "tidemark check SRC DST",
    says: "Compare two sides by size and checksum, copying nothing.",
    more: "`=` same, `<` only in SRC, `>` only in DST, `*` differs, `?` same size but not compared. Ends with 6 unless all are the same.",
  },
  ls: {
    usage: "tidemark ls [s3://bucket[/prefix]]",
    says: "List the objects under a prefix with date and size, or the buckets.",
  },
  cat: { usage: "tidemark cat s3://bucket/key", says: "Write an object, or a range of it, to stdout." },
  rm: {
    usage: "tidemark rm s3://bucket/key",
    says: "Delete an object; with --recursive everything under s3://bucket/folder.",
    more: "It asks nothing. A folder or a bucket without --recursive is refused with the number of objects in it.",
  },
  presign: {
    usage: "tidemark presign s3://bucket/key",
    says: "Print a URL that opens one object without keys.",
    more: "Whoever has it may use it until it expires.",
  },
  limit: {
    usage: "tidemark limit [--up LIMIT] [--down LIMIT]",
    says: "Set or show the limits of the workers of this machine. Those that run follow within a second, those started later too, until --reset.",
  },
  config: { usage: "tidemark config [COMMAND]", says: "Show every setting, its value and where it comes from." },
  version: { usage: "tidemark version", says: "Show the version." },
  help: { usage: "tidemark help [COMMAND]", says: "Show this, or the help of one command." },
} as const satisfies Record<string, CommandSpec>;
export type CommandName = keyof typeof COMMANDS;
export const commandSpec = (command: CommandName): CommandSpec => COMMANDS[command];
export const isCommand = (text: string): text is CommandName => Object.hasOwn(COMMANDS, text);
