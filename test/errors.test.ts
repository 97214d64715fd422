/** The messages of refusals. */
import { expect, it } from 'vitest';
import { InvalidInputError, ItemNotUpdatableError, JobSealedError, NotFoundError } from '../src/errors.ts';

const uuid = '01a2077c-3dd9-76f9-ab23-7d57cc000001';

it('what the database calls by its key has the id that callers know', () => {
  expect(new NotFoundError(`There is no job ${uuid}.`).message).toBe(`There is no job Job:${uuid}.`);
  expect(new NotFoundError(`There is no job Job:${uuid}.`).message).toBe(`There is no job Job:${uuid}.`);
  expect(new JobSealedError(`Job ${uuid} is sealed.`).message).toBe(`Job Job:${uuid} is sealed.`);
  expect(new NotFoundError(`There is no item 1025 of job ${uuid}.`).message).toBe(
    `There is no item JobItem:${uuid}:1025.`,
  );
  expect(
    new ItemNotUpdatableError(`Item 1025 of job ${uuid} can't be changed.`, 'itemId', 'RUNNING').message,
  ).toBe(`Item JobItem:${uuid}:1025 can't be changed.`);
  expect(new NotFoundError(`There are no dead letters in the group ${uuid}.`).message).toBe(
    `There are no dead letters in the group DeadLetterGroup:${uuid}.`,
  );
  expect(new InvalidInputError(`id is "${uuid}".`).message).toBe(`id is "${uuid}".`);
});
