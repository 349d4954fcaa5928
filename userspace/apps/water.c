// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Water: flexible three-site molecules in a periodic box.
 *
 * Charges and the oxygens' Lennard-Jones term are those of SPC: H. Berendsen et al., in
 * "Intermolecular Forces", Reidel 1981; bonds and the angle are springs. Motion: Gear's predictor
 * and corrector of fifth order for equations of second order, M. Allen, D. Tildesley, "Computer
 * Simulation of Liquids", 1987, section 3.2 and appendix E. The energy of a pair is switched off
 * smoothly over the last fifth of the reach, so that the total is conserved.
 */
#include <math.h>
#include <string.h>

#include "app.h"
#include "water.h"

#define MASS_O 15.9994
#define MASS_H 1.008
#define CHARGE_H 0.41
#define COULOMB 138935.4577	/* of two unit charges at 1 Angstrom */
#define LJ_SIGMA 3.166
#define LJ_EPSILON 65.0
#define BOND 1.0
#define BOND_SPRING 463700.0
#define ANGLE 1.910633		/* 109.47 degrees */
#define ANGLE_SPRING 38300.0
#define SPACING 3.104		/* 1 g / cm^3 */
#define JITTER 0.02		/* where sides are molecules, some soon pass through them */
#define SPEED 15.0		/* of a molecule, at most */
#define DT 0.0002

static const double mass[WATER_ATOMS] = { MASS_O, MASS_H, MASS_H };
static const double charge[WATER_ATOMS] = { -2 * CHARGE_H, CHARGE_H, CHARGE_H };

void water_box_init(struct water_box *box, size_t count, double reach, double first)
{
	box->count = count;
	box->side = SPACING * cbrt((double)count);
	box->reach = reach > 0 && reach < box->side / 2 ? reach : box->side / 2;
	box->first = first * SPACING;
	box->dt = DT;
}

/* A direction that looks random. */
static void direction(uint64_t seed, size_t i, double v[3])
{
	double z = 2 * app_random(seed, 2 * i) - 1;
	double phi = 2 * M_PI * app_random(seed, 2 * i + 1);

	v[0] = sqrt(1 - z * z) * cos(phi);
	v[1] = sqrt(1 - z * z) * sin(phi);
	v[2] = z;
}

void water_layout(struct waters *m, size_t count)
{
	m->place = app_alloc(count, sizeof(*m->place));
	m->force = app_alloc(count, sizeof(*m->force));
	m->moves = app_alloc(count, sizeof(*m->moves));
}

/* Into the box, in which the oxygen is. */
static void come_back(const struct water_box *box, double place[WATER_ATOMS][3])
{
	int atom, k;

	for (k = 0; k < 3; k++) {
		double outside = floor(place[0][k] / box->side) * box->side;

		for (atom = 0; atom < WATER_ATOMS; atom++)
			place[atom][k] -= outside;
	}
}

/* Two by two with opposite velocities, so that the whole rests. */
static void start_velocity(const struct water_box *box, size_t i, double v[3])
{
	double speed = SPEED * app_random(4, i / 2) * (i % 2 ? -1 : 1);
	int k;

	direction(3, i / 2, v);
	if (i == box->count - 1 && i % 2 == 0)
		speed = 0;
	for (k = 0; k < 3; k++)
		v[k] *= speed * box->dt;
}

void water_place(const struct water_box *box, size_t i, double place[WATER_ATOMS][3])
{
	size_t row = (size_t)ceil(cbrt((double)box->count) - 1e-9);
	size_t at[3] = { i % row, i / row % row, i / row / row };
	double along[3], across[3], dot = 0, length = 0;
	int k;

	direction(1, i, along);
	direction(2, i, across);
	for (k = 0; k < 3; k++)
		dot += along[k] * across[k];
	for (k = 0; k < 3; k++) {
		across[k] -= dot * along[k];
		length += across[k] * across[k];
	}
	for (k = 0; k < 3; k++) {
		double centre = box->first + (double)at[k] * box->side / (double)row +
				JITTER * (app_random(5, 3 * i + (size_t)k) - 0.5);
		double side = BOND * sin(ANGLE / 2) * across[k] / sqrt(length);
		double up = BOND * cos(ANGLE / 2) * along[k];

		place[0][k] = centre;
		place[1][k] = centre + up + side;
		place[2][k] = centre + up - side;
	}
	come_back(box, place);
}

void water_init(const struct water_box *box, size_t i, struct waters *m)
{
	double v[3];
	int atom;

	water_place(box, i, m->place[i]);
	memset(m->force[i], 0, sizeof(m->force[i]));
	memset(m->moves[i], 0, sizeof(m->moves[i]));
	start_velocity(box, i, v);
	for (atom = 0; atom < WATER_ATOMS; atom++)
		memcpy(m->moves[i][0][atom], v, sizeof(v));
}

/* What a force does in a step, as the second derivative has it. */
static double second_order(const struct water_box *box, double force, int atom)
{
	return box->dt * box->dt / 2 * force / mass[atom];
}

void water_start(const struct water_box *box, struct waters *m, size_t i)
{
	int atom, k;

	for (atom = 0; atom < WATER_ATOMS; atom++)
		for (k = 0; k < 3; k++)
			m->moves[i][1][atom][k] = second_order(box, m->force[i][atom][k], atom);
}

/* The place and its derivatives. */
static void orders_of(struct waters *m, size_t i, double *order[WATER_ORDERS])
{
	int k;

	order[0] = &m->place[i][0][0];
	for (k = 1; k < WATER_ORDERS; k++)
		order[k] = &m->moves[i][k - 1][0][0];
}

/* Taylor's series; with scaled derivatives the coefficients are Pascal's triangle. */
void water_predict(struct waters *m, size_t i)
{
	double *order[WATER_ORDERS];
	int from, to, k;

	orders_of(m, i, order);
	for (k = 0; k < WATER_ATOMS * 3; k++)
		for (from = 0; from < WATER_ORDERS - 1; from++)
			for (to = WATER_ORDERS - 2; to >= from; to--)
				order[to][k] += order[to + 1][k];
	memset(m->force[i], 0, sizeof(m->force[i]));
}

void water_correct(const struct water_box *box, struct waters *m, size_t i)
{
	static const double gear[WATER_ORDERS] = {
		3.0 / 20, 251.0 / 360, 1, 11.0 / 18, 1.0 / 6, 1.0 / 60
	};
	const double *force = &m->force[i][0][0];
	double *order[WATER_ORDERS];
	int number, k;

	orders_of(m, i, order);
	for (k = 0; k < WATER_ATOMS * 3; k++) {
		double error = second_order(box, force[k], k / 3) - order[2][k];

		for (number = 0; number < WATER_ORDERS; number++)
			order[number][k] += gear[number] * error;
	}
	come_back(box, m->place[i]);
}

static double between(const double a[3], const double b[3], double v[3])
{
	double square = 0;
	int k;

	for (k = 0; k < 3; k++) {
		v[k] = a[k] - b[k];
		square += v[k] * v[k];
	}
	return sqrt(square);
}

double water_bend(double place[WATER_ATOMS][3], double force[WATER_ATOMS][3])
{
	double v[2][3], length[2], cosine = 0, sine, bend, energy;
	int h, k;

	energy = 0;
	for (h = 0; h < 2; h++) {
		length[h] = between(place[1 + h], place[0], v[h]);
		energy += BOND_SPRING / 2 * (length[h] - BOND) * (length[h] - BOND);
		for (k = 0; k < 3; k++) {
			double f = -BOND_SPRING * (length[h] - BOND) * v[h][k] / length[h];

			force[1 + h][k] += f;
			force[0][k] -= f;
		}
	}
	for (k = 0; k < 3; k++)
		cosine += v[0][k] * v[1][k] / (length[0] * length[1]);
	sine = sqrt(1 - cosine * cosine);
	bend = acos(cosine) - ANGLE;
	energy += ANGLE_SPRING / 2 * bend * bend;
	for (h = 0; h < 2; h++) {
		for (k = 0; k < 3; k++) {
			double f = ANGLE_SPRING * bend / (sine * length[h]) *
				   (v[!h][k] / length[!h] - cosine * v[h][k] / length[h]);

			force[1 + h][k] += f;
			force[0][k] -= f;
		}
	}
	return energy;
}

/* Factor of a pair's energy at distance @r of the oxygens, from 1 to 0; its slope in @slope. */
static double fade(double r, double reach, double *slope)
{
	double width = reach / 5;
	double t = (r - (reach - width)) / width;

	*slope = 0;
	if (t <= 0)
		return 1;
	*slope = -30 * t * t * (1 - t) * (1 - t) / width;
	return 1 - t * t * t * (10 - t * (15 - 6 * t));
}

/* Coulomb energy of all pairs of atoms, with forces, at full strength. */
static double attract(double a[WATER_ATOMS][3], double b[WATER_ATOMS][3], const double shift[3],
		      double force[WATER_ATOMS][WATER_ATOMS][3])
{
	double energy = 0;
	int i, j, k;

	for (i = 0; i < WATER_ATOMS; i++) {
		for (j = 0; j < WATER_ATOMS; j++) {
			double v[3], square = 0, e;

			for (k = 0; k < 3; k++) {
				v[k] = a[i][k] - b[j][k] - shift[k];
				square += v[k] * v[k];
			}
			e = COULOMB * charge[i] * charge[j] / sqrt(square);
			energy += e;
			for (k = 0; k < 3; k++)
				force[i][j][k] = e / square * v[k];
		}
	}
	return energy;
}

double water_meet(const struct water_box *box, double a[WATER_ATOMS][3], double b[WATER_ATOMS][3],
		  double fa[WATER_ATOMS][3], double fb[WATER_ATOMS][3])
{
	double force[WATER_ATOMS][WATER_ATOMS][3];
	double v[3], shift[3], square = 0, r, s6, lj, energy, factor, slope;
	int i, j, k;

	for (k = 0; k < 3; k++) {
		v[k] = a[0][k] - b[0][k];
		shift[k] = box->side * floor(v[k] / box->side + 0.5);
		v[k] -= shift[k];
		square += v[k] * v[k];
	}
	if (square >= box->reach * box->reach)
		return 0;
	r = sqrt(square);
	energy = attract(a, b, shift, force);
	s6 = pow(LJ_SIGMA * LJ_SIGMA / square, 3);
	lj = 4 * LJ_EPSILON * s6 * (s6 - 1);
	energy += lj;
	factor = fade(r, box->reach, &slope);
	for (k = 0; k < 3; k++) {
		force[0][0][k] += 24 * LJ_EPSILON * s6 * (2 * s6 - 1) / square * v[k];
		/* What changes the factor is the oxygens' distance. */
		fa[0][k] -= slope * energy * v[k] / r;
		fb[0][k] += slope * energy * v[k] / r;
		for (i = 0; i < WATER_ATOMS; i++) {
			for (j = 0; j < WATER_ATOMS; j++) {
				fa[i][k] += factor * force[i][j][k];
				fb[j][k] -= factor * force[i][j][k];
			}
		}
	}
	return factor * energy;
}

double water_kinetic(const struct water_box *box, const struct waters *m, size_t i)
{
	double energy = 0;
	int atom, k;

	for (atom = 0; atom < WATER_ATOMS; atom++) {
		for (k = 0; k < 3; k++) {
			double v = m->moves[i][0][atom][k] / box->dt;

			energy += mass[atom] / 2 * v * v;
		}
	}
	return energy;
}

void water_add(double to[WATER_ATOMS][3], double from[WATER_ATOMS][3])
{
	int atom, k;

	for (atom = 0; atom < WATER_ATOMS; atom++)
		for (k = 0; k < 3; k++)
			to[atom][k] += from[atom][k];
}

/* The oxygen is in the box, and the hydrogens at about a bond's length from it. */
static bool is_whole(const struct water_box *box, double place[WATER_ATOMS][3])
{
	double v[3];
	int h, k;

	for (k = 0; k < 3; k++)
		if (!(place[0][k] >= 0 && place[0][k] <= box->side))
			return false;
	for (h = 1; h < WATER_ATOMS; h++)
		if (!(fabs(between(place[h], place[0], v) - BOND) <= BOND / 2))
			return false;
	return true;
}

/*
 * How far the sum of all atoms' places, by mass, has moved in direction @k. The whole rests; that a molecule came
 * back at the other side makes no difference.
 */
static double drift(const struct water_box *box, const struct waters *m, int k)
{
	const double molecule = (MASS_O + 2 * MASS_H) * box->side;
	double start[WATER_ATOMS][3], sum = 0;
	size_t i;
	int atom;

	for (i = 0; i < box->count; i++) {
		water_place(box, i, start);
		for (atom = 0; atom < WATER_ATOMS; atom++)
			sum += mass[atom] * (m->place[i][atom][k] - start[atom][k]);
	}
	return sum - molecule * floor(sum / molecule + 0.5);
}

const char *water_judge(const struct water_box *box, const struct waters *m,
			const double energy[2])
{
	double sum[3] = { 0 }, kinetic = 0, bound;
	size_t i;
	int atom, k;

	for (i = 0; i < box->count; i++) {
		if (!is_whole(box, m->place[i]))
			return app_text("molecule %zu has come apart", i);
		kinetic += water_kinetic(box, m, i);
		for (atom = 0; atom < WATER_ATOMS; atom++)
			for (k = 0; k < 3; k++)
				sum[k] += mass[atom] * m->moves[i][0][atom][k] / box->dt;
	}
	bound = 1e-6 * (double)box->count;
	for (k = 0; k < 3; k++)
		if (!(fabs(sum[k]) < bound))
			return app_text("the momentum became %g", sum[k]);
	for (k = 0; k < 3; k++)
		if (!(fabs(drift(box, m, k)) < 1e-10 * (double)box->count))
			return app_text("the centre moved by %g", drift(box, m, k));
	if (!(fabs(energy[1] - energy[0]) < 1e-3 * kinetic))
		return app_text("the energy went from %.9g to %.9g, of which %.9g is kinetic",
				energy[0], energy[1], kinetic);
	return NULL;
}

/*
 * Positions as angles, since the box is periodic: a change of one by d is of the mean at most 2 pi / side d. The bound is
 * that of sums in another order: by what a page read too late moves few places a little, the mean moves much less.
 */
double water_mean(const struct water_box *box, const struct waters *m, double *within)
{
	const double turn = 2 * M_PI / box->side;
	double sum = 0;
	size_t i, j;

	for (i = 0; i < box->count; i++)
		for (j = 0; j < WATER_ATOMS * 3; j++)
			sum += (2 * app_random(6, i * WATER_ATOMS * 3 + j) - 1) *
			       cos(turn * m->place[i][j / 3][j % 3]);
	*within = turn * 1e-13;
	return sum / (double)(box->count * WATER_ATOMS * 3);
}

static double distance(const struct water_box *box, double a[WATER_ATOMS][3], double b[WATER_ATOMS][3])
{
	double worst = 0;
	int atom, k;

	for (atom = 0; atom < WATER_ATOMS; atom++) {
		for (k = 0; k < 3; k++) {
			double apart = a[atom][k] - b[atom][k];

			apart -= box->side * floor(apart / box->side + 0.5);
			worst = app_worst(worst, apart);
		}
	}
	return worst;
}

const char *water_compare(const struct water_box *box, const struct waters *a, const struct waters *b)
{
	double worst = 0;
	size_t i;

	for (i = 0; i < box->count; i++)
		worst = app_worst(worst, distance(box, a->place[i], b->place[i]));
	return worst <= WATER_TOLERANCE ? NULL : app_text("an atom is %g Angstrom away", worst);
}
