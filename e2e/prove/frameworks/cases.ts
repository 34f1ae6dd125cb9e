/**
 * What is proven: one row for each framework and each folder that a person may watch. The programs know nothing of Tidemark
 * (`programs/`), and every flag of Tidemark has its default.
 */
export interface Case {
  readonly name: string;
  readonly title: string;
  /** Packages whose versions the page names. */
  readonly packages: readonly string[];
  /** In words, for the page. */
  readonly watches: string;
  /** Below the folder of the program; "": that folder. */
  readonly watch: string;
  readonly script: string;
  readonly args: readonly string[];
  /** Started by torchrun as so many processes. */
  readonly processes?: number;
  /** Steps at which the first and the second life are killed. */
  readonly kills: readonly [number, number];
  /** Where the first life waits until its first checkpoint is safe: those that are named later lie minutes apart in a real training. */
  readonly pauseAt?: number;
  /** The same of the recorded layout: the entry of the folder that is written after it. */
  readonly pauseBefore?: string;
  /** The number of a checkpoint in a path; older ones need not come back. Without it all files must. */
  readonly older?: RegExp;
  /** Numbers of older ones that the state of the program names: they must come back. */
  readonly named?: readonly number[];
  /** The folder of one start in a path: those of earlier starts need not come back. */
  readonly start?: RegExp;
  /** Parts of names that differ from start to start. */
  readonly varying?: RegExp;
  /** What the framework writes anew, or never reads: it need not come back. */
  readonly remade?: RegExp;
  /** Files written after the checkpoint that they point to or copy. */
  readonly labels?: RegExp;
  /** The program goes on elsewhere than what is watched: `run` has to say so. */
  readonly elsewhere?: RegExp;
  /** The program looks at TIDEMARK_RESUME_PATH alone. Without Tidemark it is told the newest checkpoint on its disk. */
  readonly isTold?: boolean;
  /** What is written into the program, where it is not "nothing". */
  readonly write?: string;
  /** What a reader has to know, for the page. */
  readonly note?: string;
}

const AT = { watches: "the output folder", watch: "", args: [] as readonly string[], kills: [23, 33] as const };
const TRAINER = {
  ...AT,
  script: "transformers_trainer.py",
  packages: ["transformers", "torch"],
  older: /^checkpoint-(\d+)\//,
};
const LIGHTNING = { ...AT, script: "lightning_trainer.py", packages: ["lightning", "torch"] };
const LOOP = { ...AT, script: "torch_loop.py", packages: ["torch"], watches: "the folder" };
const EPOCHS = { ...AT, kills: [4, 6] as const };

export const CASES: readonly Case[] = [
  { ...TRAINER, name: "trainer", title: "transformers `Trainer`", args: ["fp32"] },
  { ...TRAINER, name: "trainer-bf16", title: "transformers `Trainer`, bf16", args: ["bf16"] },
  {
    ...TRAINER,
    name: "trainer-best",
    title: "transformers `Trainer`, `load_best_model_at_end`",
    args: ["best"],
    named: [10],
    pauseAt: 13,
  },
  {
    ...TRAINER,
    name: "trainer-best-of-two",
    title: "the same with `save_total_limit=2`",
    args: ["best-of-two"],
    named: [10],
    pauseAt: 13,
    pauseBefore: "checkpoint-20",
  },
  { ...TRAINER, name: "trainer-limit-1", title: "transformers `Trainer`, `save_total_limit=1`", args: ["limit-1"] },
  {
    ...TRAINER,
    name: "trainer-project",
    title: "transformers `Trainer`, output two folders below what is watched",
    watches: "the project folder",
    args: ["project"],
    older: /checkpoint-(\d+)\//,
  },
  {
    ...TRAINER,
    name: "peft-lora",
    title: "peft LoRA with `Trainer`",
    packages: ["peft", "transformers"],
    args: ["lora"],
  },
  {
    ...TRAINER,
    name: "trl-sft",
    title: "trl `SFTTrainer`",
    packages: ["trl", "transformers"],
    script: "trl_sft.py",
    remade: /^README\.md$/,
  },
  {
    ...TRAINER,
    name: "sentence-transformers",
    title: "sentence-transformers",
    packages: ["sentence-transformers", "transformers"],
    script: "sentence_transformers_trainer.py",
    args: ["BESIDE"],
  },
  {
    ...LIGHTNING,
    name: "lightning-default",
    title: "Lightning, all defaults, a glob for the newest",
    watches: "`default_root_dir`",
    args: ["default"],
    older: /version_\d+\/checkpoints\/epoch=\d+-step=(\d+)\.ckpt$/,
  },
  {
    ...LIGHTNING,
    name: "lightning-dirpath",
    title: "Lightning `ModelCheckpoint(dirpath=…)`, a glob for the newest",
    watches: "`dirpath`",
    args: ["dirpath"],
    older: /step=(\d+)\.ckpt$/,
  },
  {
    ...LIGHTNING,
    name: "lightning-last",
    title: 'Lightning, `save_last=True` and `ckpt_path="last"`',
    watches: "`dirpath`",
    args: ["last"],
    labels: /last\.ckpt$/,
  },
  {
    ...LIGHTNING,
    name: "lightning-link",
    title: 'Lightning, `save_last="link"`, the best two',
    watches: "`dirpath`",
    args: ["link"],
    labels: /last\.ckpt$/,
    pauseAt: 13,
    pauseBefore: "epoch=1-step=20.ckpt",
  },
  {
    ...LIGHTNING,
    name: "lightning-monitor",
    title: "Lightning, `epoch=3-val_loss=0.58.ckpt` and `last.ckpt`, the best two",
    watches: "`dirpath`",
    args: ["monitor"],
    labels: /last\.ckpt$/,
    pauseAt: 13,
    pauseBefore: "epoch=1-val_loss=0.50.ckpt",
  },
  {
    ...LIGHTNING,
    name: "lightning-version-0",
    title: "Lightning, all defaults, `version_0` watched",
    watches: "`lightning_logs/version_0/checkpoints`",
    watch: "lightning_logs/version_0/checkpoints",
    args: ["version-0"],
    elsewhere: /elsewhere/,
    note: "Lightning makes `version_1` at its second start, which nobody watches: watch `default_root_dir`.",
  },
  {
    ...LIGHTNING,
    name: "lightning-resume-path",
    title: "Lightning, told by Tidemark",
    watches: "`dirpath`",
    args: ["resume-path"],
    isTold: true,
    // Lightning never removes the file that it went on from.
    older: /step=(\d+)\.ckpt$/,
    write: '`ckpt_path=os.environ.get("TIDEMARK_RESUME_PATH") or None`',
  },
  {
    ...LOOP,
    name: "numbered",
    title: "PyTorch, `ckpt_50.pt` and a glob",
    args: ["numbered"],
    older: /^ckpt_(\d+)\.pt$/,
  },
  {
    ...LOOP,
    name: "two-files",
    title: "PyTorch, `model_step_10.pt` and `optim_step_10.pt`",
    args: ["two-files"],
    older: /_step_(\d+)\.pt$/,
  },
  { ...LOOP, name: "in-place", title: "PyTorch, one `ckpt.pt` written in place (nanoGPT)", args: ["in-place"] },
  {
    ...LOOP,
    name: "out-folder",
    title: "the same, `out/ckpt.pt` of a watched project",
    watches: "the project folder",
    args: ["out-folder"],
  },
  {
    ...LOOP,
    name: "link",
    title: "PyTorch, `step_10.pt` and a link `latest.pt`",
    args: ["link"],
    older: /^step_(\d+)\.pt$/,
  },
  { ...LOOP, name: "last-and-best", title: "PyTorch, `last.pt` and `best.pt`", args: ["best"], labels: /best\.pt$/ },
  {
    ...LOOP,
    name: "hydra",
    title: "PyTorch, `outputs/DATE/TIME/checkpoints/last.ckpt` (Hydra)",
    watches: "the project folder",
    args: ["hydra"],
    start: /^outputs\/([^/]+\/[^/]+)\//,
    varying: /\d{4}-\d\d-\d\d\/\d\d-\d\d-\d\d/,
  },
  {
    ...AT,
    name: "dcp",
    title: "FSDP2, `torch.distributed.checkpoint`, torchrun with two processes",
    packages: ["torch"],
    script: "dcp_fsdp.py",
    args: ["plain"],
    processes: 2,
    older: /^step_(\d+)\//,
  },
  {
    ...AT,
    name: "dcp-async",
    title: "the same with `async_save`",
    packages: ["torch"],
    script: "dcp_fsdp.py",
    args: ["async"],
    processes: 2,
    older: /^step_(\d+)\//,
  },
  {
    ...AT,
    name: "orbax",
    title: "Orbax `CheckpointManager` (flax)",
    packages: ["orbax-checkpoint", "jax", "flax"],
    script: "orbax_manager.py",
    args: ["plain"],
    older: /^(\d+)\//,
    varying: /[0-9a-f]{32}/,
  },
  {
    ...AT,
    name: "orbax-best",
    title: "the same, the best two by `best_fn`",
    packages: ["orbax-checkpoint", "jax", "flax"],
    script: "orbax_manager.py",
    args: ["best"],
    older: /^(\d+)\//,
    named: [20],
    pauseAt: 13,
    pauseBefore: "20",
    varying: /[0-9a-f]{32}/,
  },
  {
    ...AT,
    name: "accelerate",
    title: "accelerate `save_state`, automatic naming",
    packages: ["accelerate", "torch"],
    watches: "the project folder",
    script: "accelerate_loop.py",
    older: /^checkpoints\/checkpoint_(\d+)\//,
  },
  {
    ...AT,
    name: "accelerate-checkpoints",
    title: "the same, `total_limit=2`",
    packages: ["accelerate", "torch"],
    watches: "`checkpoints/`",
    watch: "checkpoints",
    script: "accelerate_loop.py",
    args: ["2"],
    older: /^checkpoint_(\d+)\//,
  },
  {
    ...AT,
    name: "deepspeed",
    title: "DeepSpeed, ZeRO 1",
    packages: ["deepspeed", "torch"],
    script: "deepspeed_loop.py",
    processes: 1,
    older: /^global_step(\d+)\//,
    labels: /latest$|\.py$/,
    remade: /^zero_to_(fp32|torch)\.py$/,
  },
  {
    ...EPOCHS,
    name: "keras-backup",
    title: "Keras `BackupAndRestore`",
    packages: ["keras", "jax"],
    watches: "the folder above `backup_dir`",
    script: "keras_fit.py",
    args: ["backup"],
    note: "Keras removes the backup when the training has ended.",
  },
  {
    ...EPOCHS,
    name: "keras-checkpoint",
    title: "Keras `ModelCheckpoint`, `model-03.keras`",
    packages: ["keras", "jax"],
    script: "keras_fit.py",
    args: ["checkpoint"],
    older: /^model-(\d+)\.keras$/,
  },
  {
    ...EPOCHS,
    name: "keras-weights",
    title: "Keras `ModelCheckpoint`, `epoch_003.weights.h5`",
    packages: ["keras", "jax"],
    script: "keras_fit.py",
    args: ["weights"],
    older: /^epoch_(\d+)\.weights\.h5$/,
  },
  {
    ...AT,
    name: "sb3",
    title: "stable-baselines3 `CheckpointCallback`, PPO",
    packages: ["stable-baselines3", "gymnasium"],
    watches: "`save_path`",
    script: "sb3_learn.py",
    args: ["ppo"],
    kills: [150, 215],
    older: /_(\d+)_steps/,
  },
  {
    ...AT,
    name: "sb3-buffer",
    title: "the same, SAC with replay buffer and `VecNormalize`",
    packages: ["stable-baselines3", "gymnasium"],
    watches: "`save_path`",
    script: "sb3_learn.py",
    args: ["buffer"],
    kills: [45, 65],
    older: /_(\d+)_steps/,
  },
  {
    ...EPOCHS,
    name: "ultralytics",
    title: "ultralytics YOLO, `resume=True`",
    packages: ["ultralytics", "torch"],
    watches: "the project folder",
    script: "ultralytics_train.py",
    args: ["BESIDE"],
    kills: [3, 5],
    older: /epoch(\d+)\.pt$/,
    labels: /best\.pt$/,
    remade: /(results\.csv|args\.yaml)$/,
  },
  {
    ...EPOCHS,
    name: "ultralytics-weights",
    title: "the same, `train/weights` watched",
    packages: ["ultralytics", "torch"],
    watches: "`train/weights`",
    watch: "runs/detect/train/weights",
    script: "ultralytics_train.py",
    args: ["BESIDE"],
    kills: [3, 5],
    older: /epoch(\d+)\.pt$/,
    labels: /best\.pt$/,
    remade: /(results\.csv|args\.yaml)$/,
  },
  {
    ...EPOCHS,
    name: "timm",
    title: "timm `CheckpointSaver`",
    packages: ["timm", "torch"],
    script: "timm_saver.py",
    labels: /model_best/,
    remade: /^checkpoint-\d+\.pth\.tar$/,
  },
  {
    ...AT,
    name: "xgboost",
    title: "xgboost `TrainingCheckPoint`",
    packages: ["xgboost"],
    script: "xgboost_boost.py",
    older: /^model_(\d+)\.ubj$/,
  },
];

/** The same layout as another one, or nothing that a restore on the spot could show. */
const LEFT_OUT = new Set([
  "trainer",
  "trainer-bf16",
  "trainer-best",
  "trainer-project",
  "trainer-limit-1",
  "trl-sft",
  "lightning-version-0",
  "lightning-resume-path",
  "dcp-async",
  "orbax",
  "sb3",
  "keras-weights",
  "ultralytics-weights",
]);

/** Those whose folders are kept for the tests without Python: e2e/layouts. */
export const RECORDED: readonly Case[] = CASES.filter(({ name }) => !LEFT_OUT.has(name));
