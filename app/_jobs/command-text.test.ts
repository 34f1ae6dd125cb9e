import { expect, test } from "vitest";
import { readCommand, writeCommand } from "./command-text.ts";

test.each([
  ["python train.py --lr 1e-4", ["python", "train.py", "--lr", "1e-4"]],
  ["sh -c 'python train.py | tee log'", ["sh", "-c", "python train.py | tee log"]],
  ['echo "a \\"b\\" $HOME" c\\ d', ["echo", 'a "b" $HOME', "c d"]],
  ["run '' \"\"", ["run", "", ""]],
  ["  spaced \t out\n", ["spaced", "out"]],
  ["a'b'\"c\"d", ["abcd"]],
  ["", []],
])("reads %s as a shell does", (line, words) => {
  expect(readCommand(line)).toEqual(words);
});

test.each(["echo 'open", 'echo "open', "echo \\"])("refuses %s, which is not closed", (line) => {
  expect(readCommand(line)).toBeNull();
});

test.each([[["a", "b c", "it's", "", '"', "\\", "$x", "né\n"]], [["python", "-c", "print('x')"]]])(
  "reads back what it wrote of %j",
  (words) => {
    expect(readCommand(writeCommand(words))).toEqual(words);
  },
);
