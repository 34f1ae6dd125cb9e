/** A framework, and a folder that a person may watch. */
export interface Case {
  readonly name: string;
  readonly title: string;
  /** Packages whose versions the page names. */
  readonly packages: readonly string[];
  /** Description of the watched folder, for the page. */
  readonly watches: string;
  /** Watched folder below the program's folder; "" for the program's folder itself. */
  readonly watch: string;
  readonly script: string;
  readonly args: readonly string[];
  /** Number of processes under torchrun; absent for a plain program. */
  readonly processes?: number;
  /** Steps at which the first and the second execution are killed. */
  readonly kills: readonly [number, number];
  /**
   * Step at which the first execution waits until its first checkpoint is safe. In a real training, checkpoints are minutes
   * apart.
   */
  readonly pauseAt?: number;
  /** Pause in a recorded layout, like `pauseAt`: the entry of the folder that is written after it. */
  readonly pauseBefore?: string;
  /** Extracts the number of a checkpoint from a path; older ones need not be restored. Without it all files must be. */
  readonly older?: RegExp;
  /** Numbers of older checkpoints that the program's state refers to, so they must be restored. */
  readonly named?: readonly number[];
  /** Extracts the folder of one start from a path; folders of earlier starts need not be restored. */
  readonly start?: RegExp;
  /** Parts of names that differ between starts. */
  readonly varying?: RegExp;
  /** Files that the framework rewrites or never reads; they need not be restored. */
  readonly remade?: RegExp;
  /** Files written after the checkpoint that they refer to or copy. */
  readonly labels?: RegExp;
  /** The program resumes outside of the watched folder; `tidemark run` must report that. */
  readonly elsewhere?: RegExp;
  /** The program only reads TIDEMARK_RESUME_PATH. Without Tidemark it gets the newest checkpoint on its disk. */
  readonly isTold?: boolean;
  /** Code added to the program, for the page. Default: "nothing". */
  readonly write?: string;
  /** Note for readers of the page. */
  readonly note?: string;
}
