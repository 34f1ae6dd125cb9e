import type { Root } from "./situation.ts";

const DESCENDANTS = "e2e/process/run-descendants.test.ts";

export const root = {
  number: 6,
  title: "Programs and machines",
  rows: [
    {
      situation: "The reader of the program's output leaves (`| head -1`, a log shipper that dies).",
      outcome: "The program goes on to its end; its words are read and dropped. The same for stderr.",
      test: `${DESCENDANTS} > a reader of %s that leaves does not end the program`,
    },
    {
      situation: "Ctrl-C in a terminal, also with stdin redirected, or `kill -INT` of the worker alone.",
      outcome: "The signal reaches the program exactly once.",
      test: `${DESCENDANTS} > %s reaches the program exactly once`,
    },
    {
      situation: "SIGTERM while `sh -c 'python train.py | tee log'`, a list of commands or a shell with a trap runs.",
      outcome:
        "The training gets the signal, is waited for within --grace, what it saved last becomes safe, and nothing is left.",
      test: `${DESCENDANTS} > reaches the training in %s, and what it saves last becomes safe`,
    },
    {
      situation:
        "The same where the layout does not mark its end (accelerate's save_state), and only the shell dies of the signal.",
      outcome:
        "What was saved last is safe without a doubt: the training had a handler, and ended by itself. A worker without a native module (`tidemark.mjs`) stops the shell until it has read that end in /proc.",
      test: `${DESCENDANTS} > leaves no doubt about what was saved last in %s, by a worker %s, in a layout that does not mark its end`,
    },
    {
      situation: "Ctrl-C at a terminal while a shell runs such a training, which saves once more.",
      outcome:
        "A checkpoint whose files were all created after the signal is safe without a doubt; any other one that does not mark its end is doubtful.",
      test: `${DESCENDANTS} > Ctrl-C at a terminal leaves no doubt about what the training below a shell saved last`,
    },
    {
      situation:
        "The same where the training below the shell fails while it saves, by a worker with native modules and by one without (`tidemark.mjs`).",
      outcome: "What was saved last is kept as doubtful.",
      test: `${DESCENDANTS} > leaves what was saved last in doubt where the training below a shell failed, by a worker %s`,
    },
    {
      situation: "A shell whose trap does not pass SIGTERM on to the training in its background.",
      outcome: "The training gets it after half of --grace, once, and what it saves last becomes safe.",
      test: `${DESCENDANTS} > reaches the training in the background of a shell whose trap does not pass it on, once, within the grace`,
    },
    {
      situation:
        "A shell whose trap passes SIGTERM on to the training in its background, which saves for more than half of --grace.",
      outcome: "The training gets no second signal, which could interrupt its save; nor does one that got SIGINT.",
      test: `worker/program/descendants.test.ts > a training that is told %s, gets no signal after its %s while it saves`,
    },
    {
      situation: "A program is stopped (Ctrl-Z) when its worker is killed.",
      outcome: "It is continued and gets TERM, and can save before it is killed.",
      test: `e2e/process/run-orphans.test.ts > a program that is stopped (Ctrl-Z) when its worker is killed gets TERM, too`,
    },
    {
      situation: "A launcher has a handler and passes signals on itself.",
      outcome: "Its children do not get them twice.",
      test: `${DESCENDANTS} > is not sent to what a launcher passes it on to`,
    },
    {
      situation: "The program does not end within --grace.",
      outcome: "It is killed, and said with its name, its process and the length of --grace.",
      test: `${DESCENDANTS} > that a program does not end by is followed by KILL within the grace, which is said with its length`,
    },
    {
      situation: "A second SIGTERM.",
      outcome: "The worker ends at once, and nothing of the program is left.",
      test: `${DESCENDANTS} > twice leaves nothing of the program behind`,
    },
    {
      situation: "SIGTERM while the program is stopped (Ctrl-Z, SIGSTOP).",
      outcome: "It is continued, so that it takes the signal: what it saves last becomes safe.",
      test: "e2e/process/run-descendants.test.ts > reaches a program that was stopped (Ctrl-Z), and what it saves last becomes safe",
    },
    {
      situation: "The worker is process 1 of a container and gets SIGTERM.",
      outcome: "The same as elsewhere.",
      test: `${DESCENDANTS} > works the same for the first process of a container`,
    },
    {
      situation: "SIGUSR1 (a platform's warning) while a shell runs the training.",
      outcome: "It goes past a shell that would die of it, to the training.",
      test: `${DESCENDANTS} > a signal by which programs agree goes past a shell that would die of it`,
    },
    {
      situation: "The program ended and left a daemon or a child, which may hold its output open.",
      outcome: "It is named and ended: TERM, and KILL after --grace.",
      test: `${DESCENDANTS} > what a program leaves running when it ends is named and ended, also when it holds the output open`,
    },
    {
      situation: "The same with --orphan wait or refuse.",
      outcome: "It is named and left alone, and the worker ends without waiting for the output.",
      test: `${DESCENDANTS} > with --orphan wait it is left alone, and does not hold us by the output that it keeps open`,
    },
    {
      situation: "`cp` as a user without a passwd entry, with HOME unset, empty, `~` as text, or /nonexistent.",
      outcome: "It works: journals are kept in a private folder under TMPDIR, which is said once.",
      test: "e2e/process/odd-machines.test.ts > %s copies a file, and is told once where its journal is",
    },
    {
      situation:
        "HOME is that of another user, who lets nobody in (sudo, a container with a user of its own), and keys are given.",
      outcome: "`~/.aws` counts as not there. A file that AWS_CONFIG_FILE names has to be readable.",
      test: "e2e/process/odd-machines.test.ts > with the home of another user copies with the keys that it was given, and is told of a file that it was told to read",
    },
    {
      situation: "The limit of open files is small (`ulimit -n 64`), or the machine's is reached.",
      outcome: "Each file that could not be opened is named with that limit and how it is raised.",
      test: "worker/base/disk-fault.test.ts > where no more files may be opened (%s) the limit is named, and not the disk alone",
    },
    {
      situation:
        "The program is a script whose interpreter is not there: a first line that ends as on Windows, another image.",
      outcome: "The sentence names the interpreter, and the line ends where they are the cause. Exit code 126.",
      test: "e2e/process/run-program.test.ts > a script whose interpreter is not there is named with it",
    },
    {
      situation: "No folder at all may be written.",
      outcome: "One sentence that names --state.",
      test: "e2e/process/odd-machines.test.ts > is told which flag helps where no folder at all may be written",
    },
    {
      situation: "`run` as such a user.",
      outcome: "Its state is kept beside the watched folder, which is said, and found again by the next start.",
      test: "e2e/process/odd-machines.test.ts > runs a program with its state beside the watched folder, and finds it again",
    },
    {
      situation: "The path of the state folder is too long for a unix socket.",
      outcome:
        "The socket lies in a short private folder for temporary files, and programs, commands and the Python client find it.",
      test: "e2e/process/local-api.test.ts > a worker whose state folder has a long path is found by its program, commands and the Python client, and never denied",
    },
    {
      situation: "A worker runs, and its socket cannot be reached.",
      outcome: "`status` names its process and does not deny it.",
      test: "e2e/process/local-api.test.ts > a worker whose state folder has a long path is found by its program, commands and the Python client, and never denied",
    },
    {
      situation: "The root is read-only, and the temporary folder is not (a container with --read-only and a tmpfs).",
      outcome: "`cp` works: its journal is in the temporary folder, which is said once.",
      test: "e2e/process/odd-mounts.test.ts > whose root is read-only has the journal in the temporary folder, which is said",
    },
    {
      situation: "The root is read-only, and so is all else.",
      outcome: "One sentence that names --state.",
      test: "e2e/process/odd-mounts.test.ts > where nothing at all can be written is named with the flag that helps",
    },
    {
      situation: "/tmp is full.",
      outcome:
        "`cp` needs nothing of it where the state has a place; where it has none, one sentence names --state. Exit code 7.",
      test: "e2e/process/odd-mounts.test.ts > whose temporary folder is full copies all the same where the state has a place, and names the flag where it has none",
    },
    {
      situation: "The state folder is on a small root disk, and checkpoints on a large volume.",
      outcome: "`doctor`, `status` and the first capture say so with both numbers and the flag that helps.",
      test: "e2e/process/odd-mounts.test.ts > that is small holds the state, and that of the checkpoints is large: doctor, status and the first capture say so",
    },
    {
      situation:
        "A network disk that tells other times of files that nobody wrote (caches, rounding to 1 or 2 s, servers whose clocks differ).",
      outcome:
        "On such disks a time that goes back by up to 2 s is no write, and from then on neither is one that goes forth; where bytes hang on it they are compared. Checkpoints are taken once, copies and `sync` work; where a time only goes forth, the sentence names --unsteady-times.",
      test: "e2e/process/unsteady-times.test.ts > checkpoints on it become safe, each once, and are known after a restart",
    },
    {
      situation: "A network disk whose clock is ahead of or behind the machine's.",
      outcome:
        "What is quiet by our own clock is taken, also at the end of the program; what came while we watched is of this run, whatever its date.",
      test: "worker/upload/unsteady-times.test.ts > by a clock that is behind, what came while we watched is of this run all the same",
    },
    {
      situation:
        "Values from a file of variables with quotes around them or on one side, a carriage return, a space, a byte order mark, a character without width, or the whole line `export NAME=…`.",
      outcome: "Refused as that, without the value in the sentence, for every setting and key.",
      test: "worker/command-line/env-values.test.ts > that is %j is refused as that, and is not in the sentence",
    },
    {
      situation: "The same in AWS_ROLE_ARN, AWS_CONFIG_FILE, RCLONE_CONFIG_… and other variables beside the settings.",
      outcome: "Refused where keys are looked for there; a command that has its keys elsewhere goes on.",
      test: "worker/command-line/env-values.test.ts > beside the settings is refused where keys are looked for there, and not where nobody looks",
    },
    {
      situation: "A variable whose name is `export TIDEMARK_TO`, or begins with the byte order mark of its file.",
      outcome: "It is named with the one that was meant.",
      test: "worker/command-line/unknown-variables.test.ts > a name with the rest of its line in an env file is told with the one that was meant",
    },
    {
      situation: "The same in a setting of the hub.",
      outcome: "The hub does not start, and names the variable.",
      test: "server/platform/env.test.ts > refuses %s=%s and names the variable",
    },
    {
      situation: "Quotes around the master key of a hub (TIDEMARK_SECRET).",
      outcome:
        "Refused for a new database. A database that was made with them opens; where the key does not fit, the quotes are named.",
      test: "server/signer/signer.test.ts > in quotes of an env file is refused for a new database; for an old one it is said where it does not fit",
    },
    {
      situation: "A colon inside a path of TIDEMARK_WATCH.",
      outcome: "Taken where the folder is there, alone or among others, or the colon is written with a backslash.",
      test: "worker/command-line/env-values.test.ts > takes a colon inside a path where the folder is there, or where it is written with a backslash",
    },
    {
      situation:
        "A colon in TIDEMARK_WATCH that may be between folders or inside a path (`runs:a/b`), and the folder is not there yet.",
      outcome: "It is refused, and both ways are said: `./` before a folder of its own, `\\:` inside a path.",
      test: "worker/command-line/env-values.test.ts > %s, which may be meant in two ways, is refused with both",
    },
    {
      situation: "The disk is full while `tidemark keygen` writes its key file.",
      outcome: "No file is left without a key: the same command makes it when there is room.",
      test: "worker/standalone/key-file.test.ts > on a full disk no file without a key is left, and the same command makes it when there is room",
    },
    {
      situation: "The disk is full, or the hub is killed, while it makes its master key at the first start.",
      outcome: "The key file is whole or not there; the next start makes one.",
      test: "server/signer/signer.test.ts > of which only a part fits on the disk leaves no file, so that the next start makes one",
    },
    {
      situation: "Braces in TIDEMARK_INCLUDE.",
      outcome: "A comma inside of them belongs to the glob.",
      test: "worker/command-line/env-values.test.ts > a comma inside of braces belongs to the glob",
    },
    {
      situation: "The working directory of a command was removed (a deployment replaced it, a job was cleaned up).",
      outcome:
        "What needs it ends with one sentence that says so, exit code 3. Commands with whole paths work: `cp`, `ls`, `status`.",
      test: "e2e/process/clear-sentences.test.ts > in a working directory that was removed says that",
    },
  ],
} satisfies Root;
