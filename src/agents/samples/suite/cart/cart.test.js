import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cart } from './cart.js';

test('a new cart is empty', () => {
  assert.deepEqual(new Cart().lines, []);
});

test('the same article twice makes one line', () => {
  const cart = new Cart();
  cart.add('tea');
  cart.add('tea', 2);
  assert.deepEqual(cart.lines, [{ article: 'tea', count: 3 }]);
});

test('a removed article is gone', () => {
  const cart = new Cart();
  cart.add('tea');
  assert.equal(cart.remove('tea'), true);
  assert.deepEqual(cart.lines, []);
});

test('a count below one is refused', () => {
  assert.throws(() => new Cart().add('tea', 0), RangeError);
});
