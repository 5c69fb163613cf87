import assert from 'node:assert/strict';
import { test } from 'node:test';
import { order } from './stock.js';

test('an order takes from the stock', () => {
  assert.equal(order(5, 2), 3);
});

test('an order of more than there is is refused', () => {
  assert.throws(() => order(1, 2));
});
