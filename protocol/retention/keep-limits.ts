/** What a tag and a note may be, for the pages too: without a parser, which would come along with it. */

export const MOST_NOTE_LETTERS = 2_000;

export const TAG = /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/;
export const TAG_WORDS = "a tag has 1 to 32 letters, digits, '.', '_' or '-' and starts with a letter or digit";
