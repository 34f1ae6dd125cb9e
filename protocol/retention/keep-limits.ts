/** Limits of tags and notes, in a file without a parser so that pages can load it. */

export const MOST_NOTE_LETTERS = 2_000;

export const TAG = /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/;
export const TAG_WORDS = "a tag has 1 to 32 letters, digits, '.', '_' or '-' and starts with a letter or digit";
