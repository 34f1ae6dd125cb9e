import type { Root } from "./situation.ts";

export const root = {
  number: 2,
  title: "What lies in a watched folder is kept safe, or named",
  rows: [
    {
      situation:
        "`tidemark run` without `--watch` in a working folder with a base model, data sets and an old `ckpt.pt`",
      outcome:
        "The working folder is watched. What the program writes is kept, also below other folders; what was there before is neither captured, nor gone on from, nor moved.",
      test: "e2e/process/working-folder.test.ts > what the program writes is kept, what a person brought is not, and the next node goes on",
    },
    {
      situation: "A model without a step (`base.pt`) that the program fetches before it writes its first checkpoint",
      outcome:
        "It is kept by its time of writing. The first counted step begins a new line, so the run continues from that and not from the model, whose time is higher than any step.",
      test: "worker/agent/begin-line.test.ts > a step after %s alone, which says none, begins a line where no program continues from that: %s",
    },
    {
      situation:
        "The same on a disk that outlives the state of the worker, with a newer `ckpt.pt` that is not in the bucket",
      outcome:
        "The newest checkpoint of the bucket is restored, and the file is kept as `.set-aside-ckpt.pt` and named.",
      test: "e2e/process/working-folder.test.ts > a disk that outlives the state of the worker: a checkpoint that was there before is kept aside, not lost",
    },
    {
      situation: "A pipe (FIFO), a socket or a device in a checkpoint",
      outcome:
        "All other files are kept safe, and the checkpoint is not doubtful. The first one is named on the node and the hub with the number of the others, once for each name.",
      test: "e2e/process/special-files.test.ts > a pipe, a socket and a device in a checkpoint are named on node and hub, and the rest is safe and is gone on from",
    },
    {
      situation: "A pipe under the name of a saver (`latest`, `trainer_state.json`, `ckpt.pt`), or a link to /dev/zero",
      outcome: "It is not opened: no look waits for a writer, or reads without end.",
      test: "e2e/process/special-files.test.ts > a pipe, a socket and a device in a checkpoint are named on node and hub, and the rest is safe and is gone on from",
    },
    {
      situation: "`tidemark save` of a pipe, or of a folder with one in it",
      outcome: "The pipe is refused as that, with exit code 2; the folder is saved, and what is left out is named.",
      test: "e2e/process/special-files.test.ts > `save` of a pipe is refused, and of a folder with one it names what it leaves out",
    },
    {
      situation: "A link to a folder in a checkpoint",
      outcome: "The rest is kept safe, and the checkpoint is doubtful: the link is named.",
      test: "worker/capture/snapshot.test.ts > a link to a file is captured as its content; for a link to a folder the rest is kept as doubtful",
    },
    {
      situation: "A link that leads nowhere in a checkpoint (a cache of blobs that was emptied)",
      outcome: "The rest is kept safe, and the checkpoint is doubtful: the link is named.",
      test: "worker/capture/snapshot.test.ts > a file that the program took away is no lasting refusal, and for a link that leads nowhere the rest is kept as doubtful",
    },
    {
      situation: "The same on the disk of a node that starts again",
      outcome: "It lacks that file, and training goes on from the checkpoint before it.",
      test: "worker/agent/local-checkpoints.test.ts > a checkpoint in which a link leads nowhere lacks that file",
    },
    {
      situation: "A folder that looks like a checkpoint by its name alone (`samples_2026/`)",
      outcome: "It is said once, with its files and the way out, and the hub knows.",
      test: "e2e/process/foreign-folders.test.ts > what is no checkpoint is said once, with its files and the way out, and the hub knows",
    },
    {
      situation: "A tokenizer and a data set in the watched folder",
      outcome: "They are no checkpoints, and stay byte for byte where they are through every start.",
      test: "e2e/process/foreign-folders.test.ts > a tokenizer and a data set stay byte for byte where they are through every start, and are no checkpoints",
    },
    {
      situation: "Settings of more than 1 MiB, or more than 16 files of them, beside a checkpoint",
      outcome: "What is not kept with it is named, with the limit.",
      test: "worker/capture/keep-capturing.test.ts > beside a checkpoint for their number are told by the limit",
    },
    {
      situation:
        "Checkpoints are saved into a hidden folder below the watched one (`.checkpoints/step_10`), behind a link to a folder (`ckpts -> /data/ckpts`), or seven folders deep.",
      outcome:
        "They are named, with --watch for that folder, on the node and at the hub; --require-safe ends with 9. Watched itself, the folder is kept.",
      test: "e2e/process/folders-apart.test.ts > checkpoints %s are told with the way to keep them, and kept where that folder is watched",
    },
    {
      situation: "A watched folder has thousands of folders of other data below it.",
      outcome:
        "Those that held checkpoints and the newest are looked into each time, the others in turn. The first of them is named with their number, and that the folder of the checkpoints should be watched itself.",
      test: "worker/capture/detection/untaken.test.ts > of more folders than are looked through the newest are, and the others are counted with the first of them",
    },
    {
      situation:
        "One of thousands of jobs (a multirun of Hydra) began long ago, so that its folder is older than most, and saves now.",
      outcome: "It is found within a few looks, and from then on looked into each time.",
      test: "worker/capture/detection/walk-order.test.ts > every folder is entered in its turn, and one that held a checkpoint is entered from then on",
    },
    {
      situation: "Thousands of folders lie in a watched folder when the worker starts, or when the program has ended.",
      outcome: "The first look and the last one enter 20,000 of them, the newest first.",
      test: "worker/capture/detection/walk-order.test.ts > the first walk, as at the end of a program, enters many more folders than those that follow",
    },
    {
      situation: "Something was set aside in one of thousands of folders.",
      outcome: "`status` lists it.",
      test: "worker/restore/placement/set-aside.test.ts > what is set aside among thousands of folders is listed",
    },
    {
      situation: "A program saves into a hidden file (`.ckpt_10.pt`).",
      outcome:
        "It counts as not finished until it is renamed. When it stays so for a minute, or the program has ended, it is named with the way out, on the node and at the hub.",
      test: "worker/capture/detection/untaken.test.ts > a hidden file with the name of a checkpoint is told, once it is not about to be renamed",
    },
    {
      situation: "Files below 1 KiB in no checkpoint format lie where the program writes (`run_id`, `args.pkl`).",
      outcome: "They are counted in one clause with the first name; one with the name of a checkpoint is named itself.",
      test: "worker/capture/detection/untaken.test.ts > small files are counted in one clause, and told by name where that is of a checkpoint",
    },
    {
      situation: "A folder in the watched one may not be read by the worker's user (the program runs as another).",
      outcome: "It is named on the node and at the hub, once; the others are looked into.",
      test: "worker/capture/detection/untaken.test.ts > a folder that may not be read is named, and the others are looked into",
    },
  ],
} satisfies Root;
