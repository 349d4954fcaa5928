/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * The physics of both water programs: flexible molecules, their forces, their motion. Never knows
 * who computes which pair.
 *
 * Units: Angstrom, picosecond, atomic mass unit; energies in their product, 10 J / mol.
 */
#ifndef APP_WATER_H
#define APP_WATER_H

#include <stdbool.h>
#include <stddef.h>

#define WATER_ATOMS 3		/* oxygen, hydrogen, hydrogen */
#define WATER_TOLERANCE 1e-9	/* Angstrom; forces are summed up in another order */
#define WATER_ORDERS 6		/* position and its derivatives, scaled by dt^k / k! */

/**
 * struct waters - molecules, by what others need of them
 * @place: of each molecule, atom and direction, what all read that meet it; hydrogens lie near their oxygen, which
 *         alone is kept inside the box
 * @force: on each atom, in this step: what these add to
 * @moves: derivatives of @place, scaled by dt^k / k!: only who moves the molecule needs them
 */
struct waters {
	double (*place)[WATER_ATOMS][3];
	double (*force)[WATER_ATOMS][3];
	double (*moves)[WATER_ORDERS - 1][WATER_ATOMS][3];
};

/**
 * struct water_box - what all molecules have in common
 * @count: molecules
 * @side:  of the cubic box, which repeats in all directions
 * @reach: distance of oxygens from which on molecules do not see each other
 * @first: how far from the sides the first molecules are at first
 * @dt:    time step
 */
struct water_box {
	size_t count;
	double side, reach, first, dt;
};

/* A box for @count molecules at the density of water; @reach 0: half its side. @first: see there; of their distance. */
void water_box_init(struct water_box *box, size_t count, double reach, double first);
/* Asks for the memory of @count molecules; of a program's layout(). */
void water_layout(struct waters *m, size_t count);
/* Where molecule @i of the box is at first, on a lattice, turned. */
void water_place(const struct water_box *box, size_t i, double place[WATER_ATOMS][3]);
/* Makes it in @m, moving at random, without forces. */
void water_init(const struct water_box *box, size_t i, struct waters *m);

/* Before the first step: accelerations of the forces found. */
void water_start(const struct water_box *box, struct waters *m, size_t i);
/* Positions and velocities after one step, if accelerations went on as they did; then no force. */
void water_predict(struct waters *m, size_t i);
/* The same, now that the force is known; the molecule comes back into the box. */
void water_correct(const struct water_box *box, struct waters *m, size_t i);

/* Adds the forces inside a molecule at @place to @force; the potential energy. */
double water_bend(double place[WATER_ATOMS][3], double force[WATER_ATOMS][3]);
/* Adds the forces between two molecules to @fa and @fb, if they see each other; the energy. */
double water_meet(const struct water_box *box, double a[WATER_ATOMS][3], double b[WATER_ATOMS][3],
		  double fa[WATER_ATOMS][3], double fb[WATER_ATOMS][3]);
double water_kinetic(const struct water_box *box, const struct waters *m, size_t i);

void water_add(double to[WATER_ATOMS][3], double from[WATER_ATOMS][3]);

/*
 * NULL, or what a simulation did that nature does not: the sum of all momenta is kept, so that the
 * centre stays where it was, and so is the energy, of which [0] is before the first step and [1] after the last.
 */
const char *water_judge(const struct water_box *box, const struct waters *m,
			const double energy[2]);
/* A mean over all positions, of which two good runs differ by at most @within. */
double water_mean(const struct water_box *box, const struct waters *m, double *within);
/* NULL, or how far the same atoms of two simulations are apart, the box being periodic. */
const char *water_compare(const struct water_box *box, const struct waters *a,
			  const struct waters *b);

#endif
