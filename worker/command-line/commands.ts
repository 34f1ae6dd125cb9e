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
    says: "Keep the checkpoints of this machine safe: watch folders, upload checkpoints, and restore on request of the hub.",
  },
  run: {
    usage: "tidemark run (--hub URL | --to s3://BUCKET/PREFIX) [--watch DIR ...] -- COMMAND [ARGUMENT ...]",
    says: "Run a training program: restore its newest complete checkpoint first, keep its new checkpoints safe, and end with its exit code.",
    more: "Before the start it moves checkpoints of this run aside from which the program must not continue: half-written ones, and those of a run that another machine has taken over. `tidemark status` lists them. It moves or removes nothing else in the folder. --from starts from another step. The program finds the path of the checkpoint in TIDEMARK_RESUME_PATH and its step in TIDEMARK_RESUME_STEP, both empty when the run starts from the beginning. Signals are passed on. After the end of the program, its remaining checkpoints are uploaded before tidemark ends.",
  },
  work: {
    usage: "tidemark work --hub URL [--token TOKEN] [--queue NAME] [--slots N]",
    most: 0,
    says: "Run jobs of a queue of the hub, one after the other. Each continues from the newest complete checkpoint of its run, which may be from another node.",
    more: "The program of a job runs as under `tidemark run`, in a working folder of its own, with the job's id in TIDEMARK_JOB_ID. After its end the worker uploads the remaining checkpoints, reports the end to the hub, and takes the next job. The program of a canceled job gets SIGTERM, and SIGKILL after --grace. SIGTERM to this command ends the program within --grace, uploads its last checkpoint and returns the job. An unreachable hub stops no program.",
  },
  jobs: {
    usage:
      "tidemark jobs submit FILE.yaml|-|[FLAGS] -- COMMAND [ARGUMENT ...]\ntidemark jobs list\ntidemark jobs show ID\ntidemark jobs logs ID [-f]\ntidemark jobs cancel|retry ID...|FILTERS\ntidemark jobs queues\ntidemark jobs pause|resume|cap QUEUE\ntidemark jobs schedule NAME --cron '0 3 * * *' FILE.yaml|-- COMMAND\ntidemark jobs schedules\ntidemark jobs unschedule NAME\ntidemark jobs import FILE.json|-|--kelpie URL [--move]",
    operands: ["submit", "list", "show", "cancel", "retry", "queues"],
    says: "Submit, list, show, cancel and retry jobs of a hub, with an API token; import those of Salad's Kelpie.",
    more: "A file has one job or a list of jobs, in YAML or JSON with the fields of docs/jobs.md; `-` is stdin. With --dry-run, submit only checks the jobs, and cancel and retry show how many jobs they would change. Filters are --queue, --run, --label and --state. Import reads the answer of `GET /jobs` of a Kelpie API from a file, or the pending and running jobs of a running Kelpie; docs/kelpie.md describes it.",
  },
  save: {
    operands: "files",
    usage: "tidemark save DIR [--run NAME] [--step N]",
    says: "Capture a finished checkpoint now and make it safe: a folder or a file.",
    more: "The worker of this machine does this. If none runs, the command does it itself, with --hub and --token, or with --to. It ends with 0 when the checkpoint is safe; with --no-wait when it is captured, after which the program may overwrite it.",
  },
  restore: {
    usage: "tidemark restore RUN[@STEP|@final] DIR [--to s3://BUCKET/PREFIX]",
    says: "Restore the newest complete checkpoint of a run (or that of one step, or its final model) to DIR, verified and completely.",
    more: "The worker of this machine restores the runs that it writes. With --to the command reads the bucket itself, without a worker or a hub, and changes no checkpoint there; the bucket may belong to a hub. An existing folder stays until the new one is complete, and is kept beside it unless the bucket has all its bytes. When the newest checkpoint proves damaged, the command restores the one before it and says so.",
  },
  runs: {
    usage: "tidemark runs [RUN] --to s3://BUCKET/PREFIX",
    most: 1,
    says: "List the runs of a bucket and prefix: newest step, checkpoints, size, age, and writer of each; or the checkpoints of one run, with the reason when a program does not continue from one.",
    more: "It reads the bucket with the same keys as cp, without a hub or a worker.",
  },
  compare: {
    usage: "tidemark compare RUN[@STEP] RUN[@STEP] --to s3://BUCKET/PREFIX",
    says: "Compare two checkpoints of a bucket by their tensors and files, without fetching them.",
    more: "It reads manifests and tensor headers (safetensors, GGUF, PyTorch, DCP, Orbax, numpy). The checksums of the upload show whether bytes differ. Without a step it takes the newest. `~` other bytes, `!` other shape or dtype, `+` only in the second, `-` only in the first. Encrypted checkpoints need --encrypt-key. Ends with 6 unless all are the same.",
  },
  keygen: {
    usage: "tidemark keygen FILE",
    operands: "files",
    says: "Make a key that encrypts checkpoints without a hub, in a new file that only its owner can read.",
    more: "For --encrypt-key. Its line has the form of keys that a hub exports, so a hub that takes the bucket over can import it. Keep a copy on another machine: without the key nobody can read the checkpoints.",
  },
  status: {
    usage: "tidemark status [--watch] [--to s3://BUCKET/PREFIX]",
    most: 0,
    says: "Show what is not safe yet on this machine, how long that will take, and whether the uplink keeps up.",
    more: "Without a worker it shows the waiting queue in the state folder and, with --to, the runs of the bucket, and ends with 3.",
  },
  pause: {
    usage: "tidemark pause [RUN[@STEP]]",
    says: "Pause the uploads of this machine, of one run, or of one step. Later uploads wait too; captures continue.",
  },
  resume: { usage: "tidemark resume [RUN[@STEP]]", says: "Continue paused uploads." },
  retry: { usage: "tidemark retry [RUN[@STEP]]", says: "Retry failed uploads." },
  cancel: {
    usage: "tidemark cancel RUN[@STEP]|--all",
    says: "Cancel the unsafe uploads of a run, of one step, or of this machine, including failed ones. Their captures are removed; the program's own files stay.",
  },
  cp: {
    usage: "tidemark cp SRC DST",
    operands: "files",
    says: "Copy a file or folder to s3://bucket/key, back, or from bucket to bucket: parallel, resumable, verified.",
    more: "Existing files and objects are replaced. `cp - s3://bucket/key` reads stdin, `cp s3://bucket/key -` writes to stdout.",
  },
  sync: {
    usage: "tidemark sync SRC DST",
    operands: "files",
    says: "Make DST equal to SRC: copy files that are missing or differ.",
    more: "It removes nothing without --delete. A file of the same size is compared by the store's checksum, unless the dates show that it did not change since the last sync (the object is not older than the file, or the fetched file has the date of its object).",
  },
  check: {
    usage: "tidemark check SRC DST",
    operands: "files",
    says: "Compare two sides by size and checksum, without copying.",
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
    more: "Reads safetensors (and their index), GGUF, PyTorch (.pt, .ckpt, .bin), PyTorch DCP (.metadata), Orbax (_METADATA, with the files beside it), numpy, and JSON such as trainer_state.json. It reads only the ranges that describe the content, at most 16 MiB of a file. It executes nothing in a file and never unpickles. With --to it shows a checkpoint of a bucket, or one file of it, without fetching it: its place in the watched folder, its lineage and its content. Without a step it takes the newest. Encrypted checkpoints need --encrypt-key. Ends with 6 when a file is damaged.",
  },
  rm: {
    usage: "tidemark rm s3://bucket/key",
    says: "Delete an object; with --recursive everything under s3://bucket/folder.",
    more: "It asks for no confirmation. Without --recursive it refuses a folder or a bucket, and shows the number of objects in it.",
  },
  presign: {
    usage: "tidemark presign s3://bucket/key",
    says: "Print a URL that opens one object without keys.",
    more: "Anyone who has the URL can use it until it expires.",
  },
  probe: {
    usage: "tidemark probe [s3://bucket/prefix]",
    says: "Measure the link to a bucket with the engine that will use it: round trip, clock, steady rates up and down.",
    more: "On a node that has joined a hub, the default is the bucket of its hub. It uses the whole link for --probe-time in each direction and leaves no object behind. Rates are those of the payload, about 3.5 % below the rate of the line. It ends with 4 when the link is slower than --min-up or --min-down by more than a tenth, the possible error of the measurement. A failed measurement never counts as slow.",
  },
  bench: {
    usage: "tidemark bench s3://bucket/prefix | --profile NAME [--engines all]",
    says: "Compare the transfer tools of this machine (Tidemark, AWS SDK, rclone, boto3, aws, s5cmd, aria2c, uplink) over the same link to the same bucket.",
    more: "Each engine sends and fetches random bytes in a process of its own, in a shuffled order; downloads are verified by SHA-256. Prints the tables of the SaladCloud guide: the maximum with its percentiles, and for each engine its mean rate, how often it was the best, and its failures. Missing tools are named and skipped. Engines get keys only through their environment or stdin. Defaults: 300 MB, parts of 10 MB, 10 at a time. No object stays in the bucket. With --profile, on a node that has joined a hub, you need no key: Tidemark and aria2c use signatures of the hub, the others run if an admin gave the bucket a benchmark key, and the hub shows the result under Benchmarks. Ends with 8 when some cases failed.",
  },
  limit: {
    usage: "tidemark limit [--up LIMIT] [--down LIMIT]",
    most: 0,
    says: "Set or show the limits of the workers of this machine. Running workers follow within a second; later ones use the limits too, until --reset.",
  },
  doctor: {
    usage: "tidemark doctor [--watch DIR] [s3://bucket/prefix]",
    says: "Check everything that transfers need (disk, names, TLS, clock, rights, hub) and say how to fix each problem.",
    more: "In a bucket it tries every operation that transfers use, on its own objects under s3://bucket/prefix/tidemark-check/, which it removes. With --watch it lists the checkpoints that an agent would capture in a folder, their steps, the places where a restore would put them, and the files that it would skip, with reasons. It contacts a hub without using the join token. Each line is ok, warn, failed or skipped (not checkable) and says what to do. It ends with 0 unless a check failed, else with the exit code of the first failed check.",
  },
  completion: {
    usage: "tidemark completion bash|zsh|fish",
    operands: ["bash", "zsh", "fish"],
    says: "Print a shell script that completes commands, flags and their values.",
    more: "bash, in ~/.bashrc: source <(tidemark completion bash). zsh, in ~/.zshrc after compinit: source <(tidemark completion zsh). fish: tidemark completion fish > ~/.config/fish/completions/tidemark.fish",
  },
  config: {
    usage: "tidemark config [COMMAND]",
    most: 1,
    operands: "commands",
    says: "Show every setting, its value and its source.",
    more: "Without a command it shows the settings of all commands. It includes limits that `tidemark limit` or the hub has set. Ends with 2 when a value cannot be read.",
  },
  version: { usage: "tidemark version", most: 0, says: "Show the version." },
  help: {
    usage: "tidemark help [COMMAND]",
    most: 1,
    operands: "commands",
    says: "Show this help, or that of one command.",
  },
} as const satisfies Record<string, CommandSpec>;
export type CommandName = keyof typeof COMMANDS;
export const commandSpec = (command: CommandName): CommandSpec => COMMANDS[command];
export const isCommand = (text: string): text is CommandName => Object.hasOwn(COMMANDS, text);
