/** One row of what is proven: a framework, and a folder that a person may watch. */
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
