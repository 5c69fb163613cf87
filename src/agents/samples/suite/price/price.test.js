import assert from 'node:assert/strict';
import { test } from 'node:test';
import { price } from './price.js';

test('one article costs its price', () => {
  assert.equal(price(250, 1), 250);
});

test('ten articles cost a tenth less', () => {
  assert.equal(price(250, 10), 2250);
});

test('a price is a whole number of cents', () => {
  assert.equal(price(33, 11), 327);
});
