import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { UnreadableNames } from "./unreadable-names.tsx";

it.each([
  [["caf\ufffd"], 1, "1 name is not valid UTF-8: caf\ufffd. It has no row."],
  [
    ["a\ufffd", "b\ufffd"],
    1_002,
    "1,002 names are not valid UTF-8: a\ufffd, b\ufffd and 1,000 more. They have no row.",
  ],
])("names that have no row are said, one and many", (first, count, words) => {
  const html = renderToStaticMarkup(<UnreadableNames first={first} count={count} />);
  expect(html.replaceAll(/<[^>]*>/g, "")).toBe(words);
});
