/** The single table of commands; help, completion and docs/cli.md are made from it. */

interface CommandSpec {
  usage: string;
  /** One sentence, for the list of commands. */
  says: string;
  /** Further sentences for the command's own help. */
  more?: string;
  /** Most operands allowed; left out where the command checks its operands itself. */
  most?: 0 | 1;
  /** Completion of its operands in shells; none when left out. */
  operands?: "files" | "commands" | readonly string[];
}

export const COMMANDS = {
  agent: {
    usage: "tidemark agent (--hub URL --token TOKEN | --to s3://BUCKET/PREFIX) --watch DIR [--watch DIR ...]",
    most: 0,
    says: "Keep checkpoints of this machine safe: watch folders, upload, restore when the hub asks.",
  },
  run: {
    usage: "tidemark run (--hub URL | --to s3://BUCKET/PREFIX) [--watch DIR ...] -- COMMAND [ARGUMENT ...]",
    says: "Run a training program: restore its newest complete checkpoint first, keep those it writes safe, end with its exit code.",
    more: "Checkpoints that this run wrote and the program must not go on from (half-written ones, those of a run that another machine has taken over) are moved aside before and kept; `tidemark status` lists them. Nothing else in the folder is moved or removed. With --from it starts from another step. The program finds the path of the checkpoint in TIDEMARK_RESUME_PATH and its step in TIDEMARK_RESUME_STEP, both empty when the run starts from the beginning. Signals are passed on; when the program has ended, what it left is uploaded before tidemark ends too.",
  },
  work: {
    usage: "tidemark work --hub URL [--token TOKEN] [--queue NAME] [--slots N]",
    most: 0,
    says: "Take jobs of a queue of the hub, one after the other: each goes on from the newest complete checkpoint of its run, wherever that was written.",
    more: "A job's program runs as under `tidemark run`, in a working folder of its own, and finds the job's id in TIDEMARK_JOB_ID. When it has ended, what it left is uploaded, the hub is told, and the next job is taken. A job that is canceled gets SIGTERM, and SIGKILL after --grace. SIGTERM to this command ends the program within --grace, keeps its last checkpoint safe and gives the job back. A hub that does not answer stops nothing.",
  },
  jobs: {
    usage:
      "tidemark jobs submit FILE.yaml|-|[FLAGS] -- COMMAND [ARGUMENT ...]\ntidemark jobs list\ntidemark jobs show ID\ntidemark jobs logs ID [-f]\ntidemark jobs cancel|retry ID...|FILTERS\ntidemark jobs queues\ntidemark jobs pause|resume|cap QUEUE\ntidemark jobs schedule NAME --cron '0 3 * * *' FILE.yaml|-- COMMAND\ntidemark jobs schedules\ntidemark jobs unschedule NAME\ntidemark jobs import FILE.json|-|--kelpie URL [--move]",
    operands: ["submit", "list", "show", "cancel", "retry", "queues"],
    says: "Submit, list, show, cancel and retry jobs of a hub, with an API token; import those of Salad's Kelpie.",
    more: "A file has one job, or a list of jobs, in YAML or JSON with the fields of docs/jobs.md; `-` is stdin. With --dry-run, submit checks the jobs and sends nothing, cancel and retry say how many jobs they would change. Filters are --queue, --run, --label and --state. Import reads the answer of `GET /jobs` of a Kelpie API from a file, or the pending and running jobs of a running one; docs/kelpie.md describes it.",
  },
  save: {
    operands: "files",
    usage: "tidemark save DIR [--run NAME] [--step N]",
    says: "Take a finished checkpoint now and make it safe: a folder or a file.",
    more: "The worker of this machine does it when one runs; otherwise this command does it alone, with --hub and --token, or with --to. Ends when it is safe, with 0; with --no-wait when it is captured, after which the program may go on and overwrite it.",
  },
  restore: {
    usage: "tidemark restore RUN[@STEP|@final] DIR [--to s3://BUCKET/PREFIX]",
    says: "Put the newest complete checkpoint of a run (or that of one step, or its final model) at DIR, verified, all of it or nothing.",
    more: "Asks the worker of this machine, which restores the runs that it writes. With --to it reads the bucket itself, also one that a hub keeps: no worker, no hub, and nothing in the bucket changes. A folder that is there stays until the new one is whole, and is kept beside it when it is not in the bucket byte for byte. When the newest checkpoint turns out damaged the one before it is taken, and that is said.",
  },
  runs: {
    usage: "tidemark runs [RUN] --to s3://BUCKET/PREFIX",
    most: 1,
    says: "List the runs of a bucket and prefix: newest step, checkpoints, size, age, and who writes each; or the checkpoints of one run, and why nothing goes on from one.",
    more: "It reads the bucket with keys as cp finds them; no hub and no worker is asked.",
  },
  compare: {
    usage: "tidemark compare RUN[@STEP] RUN[@STEP] --to s3://BUCKET/PREFIX",
    says: "Compare two checkpoints of a bucket by their tensors and files, without fetching them.",
    more: "It reads manifests and what describes the tensors (safetensors, GGUF, PyTorch, DCP, Orbax, numpy); whether bytes differ is told by the checksums that were recorded when they were uploaded. Without a step: the newest. `~` other bytes, `!` other shape or dtype, `+` only in the second, `-` only in the first. Encrypted checkpoints need --encrypt-key. Ends with 6 unless all are the same.",
  },
  keygen: {
    usage: "tidemark keygen FILE",
    operands: "files",
    says: "Make a key that encrypts checkpoints without a hub, in a new file that only its owner can read.",
    more: "For --encrypt-key. The line in it has the form in which a hub exports keys, so a hub that takes the bucket over can import it. Keep a copy away from this machine: without the key nobody can read what it encrypted.",
  },
  status: {
    usage: "tidemark status [--watch] [--to s3://BUCKET/PREFIX]",
    most: 0,
    says: "Show what is not safe yet on this machine, how long that will take, and whether the uplink keeps up.",
    more: "Without a worker it shows the queue that waits in the state folder and, with --to, the runs of the bucket, and ends with 3.",
  },
  pause: {
    usage: "tidemark pause [RUN[@STEP]]",
    says: "Pause the uploads of this machine, of one run, or of one step. Those that come later wait too; captures go on.",
  },
  resume: { usage: "tidemark resume [RUN[@STEP]]", says: "Go on with uploads that were paused." },
  retry: { usage: "tidemark retry [RUN[@STEP]]", says: "Try failed uploads again." },
  cancel: {
    usage: "tidemark cancel RUN[@STEP]|--all",
    says: "Cancel the uploads of a run, of one step, or of this machine that are not safe yet, failed ones too; what was captured is removed, the program's own files stay.",
  },
  cp: {
    usage: "tidemark cp SRC DST",
    operands: "files",
    says: "Copy a file or folder to s3://bucket/key, back, or from bucket to bucket: parallel, resumable, verified.",
    more: "What is there already is replaced. `cp - s3://bucket/key` sends what comes in on stdin, `cp s3://bucket/key -` writes to stdout.",
  },
  sync: {
    usage: "tidemark sync SRC DST",
    operands: "files",
    says: "Make DST hold what SRC holds: copies what is missing or differs.",
    more: "Removes nothing unless --delete is given. A file of the same size is compared by the checksum the store keeps, unless the dates say that it did not change since the last sync (an object is not older than its file; a fetched file has the date of its object).",
  },
  check: {
    usage: "tidemark check SRC DST",
    operands: "files",
    says: "Compare two sides by size and checksum, copying nothing.",
    more: "`=` same, `<` only in SRC, `>` only in DST, `*` differs, `?` same size but not compared. Ends with 6 unless all are the same.",
  },
  ls: {
    usage: "tidemark ls [s3://bucket[/prefix]]",
    says: "List the objects under a prefix with date and size, or the buckets.",
  },
  cat: { usage: "tidemark cat s3://bucket/key", says: "Write an object, or a range of it, to stdout." },
  inspect: {
    operands: "files",
    usage: "tidemark inspect FILE|s3://bucket/key, or RUN[@STEP] [FILE] --to s3://BUCKET/PREFIX",
    says: "Show what is inside a checkpoint file without loading it: tensors, shapes, dtypes, parameters, metadata, loss curve.",
    more: "Reads safetensors (and their index), GGUF, PyTorch (.pt, .ckpt, .bin), PyTorch DCP (.metadata), Orbax (_METADATA, with what lies beside it), numpy, and JSON such as trainer_state.json; of an object only the ranges that describe it, at most 16 MiB. Nothing in a file is ever executed: pickles are read, not unpickled. With --to it looks into a checkpoint of a bucket without fetching it, or into one file of it: its place in the watched folder, its lineage, and what is inside; without a step the newest; encrypted ones need --encrypt-key. Ends with 6 when a file is damaged.",
  },
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
  probe: {
    usage: "tidemark probe [s3://bucket/prefix]",
    says: "Measure the link to a bucket with the engine that will use it: round trip, clock, steady rates up and down.",
    more: "Without an address, on a node that has joined a hub: the bucket of its hub. It takes the whole link for --probe-time in each direction and leaves nothing behind. Rates are those of the payload, about 3.5 % below what a line is sold as. Ends with 4 when the link is slower than --min-up or --min-down by more than a tenth, which is what measuring may miss; what could not be measured is never called slow.",
  },
  bench: {
    usage: "tidemark bench s3://bucket/prefix | --profile NAME [--engines all]",
    says: "Compare what moves bytes on this machine (Tidemark, AWS SDK, rclone, boto3, aws, s5cmd, aria2c, uplink) over the same link to the same bucket.",
    more: "Each engine sends and fetches random bytes as a process of its own, in an order that is shuffled; downloads are compared by SHA-256. Prints the tables of the SaladCloud guide: the maximum with its percentiles, and for each engine its mean rate, how often it was the best, and what failed. What is not installed is said and left out. Keys reach the engines through their environment or stdin only. 300 MB, parts of 10 MB and 10 at a time when nothing is said; nothing is left in the bucket. With --profile, on a node that has joined a hub, no key is needed here: Tidemark and aria2c move by the hub's signatures, the others run where an admin gave the bucket a benchmark key, and the hub shows the result under Benchmarks. Ends with 8 when some cases failed.",
  },
  limit: {
    usage: "tidemark limit [--up LIMIT] [--down LIMIT]",
    most: 0,
    says: "Set or show the limits of the workers of this machine. Those that run follow within a second, those started later too, until --reset.",
  },
  doctor: {
    usage: "tidemark doctor [--watch DIR] [s3://bucket/prefix]",
    says: "Look at everything transfers need (disk, names, TLS, clock, rights, hub) and say how to mend what is wrong.",
    more: "Of a bucket it tries every operation that transfers use, on objects of its own under s3://bucket/prefix/tidemark-check/, which it removes. With --watch it lists what an agent would take in a folder, as which step, where a restore would put it back, and what it would leave, with reasons. A hub is asked without using up the join token. Each line is ok, warn, failed or skipped (it could not be looked at) and carries what to do. Ends with 0 unless something failed, else with the exit code of the first thing that did.",
  },
  completion: {
    usage: "tidemark completion bash|zsh|fish",
    operands: ["bash", "zsh", "fish"],
    says: "Print what a shell needs to complete commands, flags and their values.",
    more: "bash, in ~/.bashrc: source <(tidemark completion bash). zsh, in ~/.zshrc after compinit: source <(tidemark completion zsh). fish: tidemark completion fish > ~/.config/fish/completions/tidemark.fish",
  },
  config: {
    usage: "tidemark config [COMMAND]",
    most: 1,
    operands: "commands",
    says: "Show every setting, its value and where it comes from.",
    more: "Without a command: those of all commands, each once. Limits that were set with `tidemark limit`, or by the hub, are shown as they hold. Ends with 2 when a value cannot be read.",
  },
  version: { usage: "tidemark version", most: 0, says: "Show the version." },
  help: {
    usage: "tidemark help [COMMAND]",
    most: 1,
    operands: "commands",
    says: "Show this, or the help of one command.",
  },
} as const satisfies Record<string, CommandSpec>;
export type CommandName = keyof typeof COMMANDS;
export const commandSpec = (command: CommandName): CommandSpec => COMMANDS[command];
export const isCommand = (text: string): text is CommandName => Object.hasOwn(COMMANDS, text);
